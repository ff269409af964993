import { readFileSync } from 'node:fs'
import { assertContextName, type Context, type ContextFile, findContext } from './contexts.ts'
import { parseDuration } from './duration.ts'
import { Failure, messageOf, usageFailure } from './exit-codes.ts'
import type { GlobalInput } from './options.ts'

export type Format = string

/** The values of the flags that every command takes. */
export interface Settings {
  format: Format
  /** The user asked for JSON, so failures are JSON too. */
  asksForJson: boolean
  /** The value of --base-url, for commands that store it. */
  baseUrl: string | undefined
  yes: boolean
  confirm: string | undefined
  dryRun: boolean
  reason: string | undefined
  canAsk: boolean
  color: boolean
  quiet: boolean
  debug: boolean
  timeoutMs: number
}

export const commonFormats = ['table', 'json', 'ndjson'] as const
const standardTimeoutMs = 30_000
const standardBaseUrl = 'http://127.0.0.1:4000'

/** The formats of a command, and the defaults without `-o`. */
export interface Formats {
  all: readonly string[]
  terminal: Format
  pipe: Format
}

export const standardFormats: Formats = { all: commonFormats, terminal: 'table', pipe: 'json' }

/** The formats of a list. */
export const listFormats: Formats = { ...standardFormats, all: [...commonFormats, 'wide', 'csv', 'id'] }

export function readSettings(
  input: GlobalInput,
  { isTerminal, formats = standardFormats }: { isTerminal: boolean; formats?: Formats | undefined },
): Settings {
  const asked = input.json ? 'json' : input.output
  if (input.json && input.output !== undefined && input.output !== 'json')
    throw usageFailure('--json and -o contradict each other')
  if (asked !== undefined && !formats.all.includes(asked))
    throw usageFailure(`-o must be one of ${formats.all.join(', ')}, not ${asked}`)
  return {
    format: asked ?? (isTerminal ? formats.terminal : formats.pipe),
    asksForJson: asked === 'json' || asked === 'ndjson',
    baseUrl: input.baseUrl === undefined ? undefined : normalizeBaseUrl(input.baseUrl),
    yes: input.yes,
    confirm: input.confirm,
    dryRun: input.dryRun,
    reason: readReason(input.reason),
    canAsk: input.input,
    color: input.color,
    quiet: input.quiet,
    debug: input.debug,
    timeoutMs: readTimeout(input.timeout),
  }
}

/** In characters. */
export const longestReason = 500

/** Reads the words before they are parsed, since a command line that cannot be parsed is reported too. */
export function asksForJson(words: readonly string[]): boolean {
  const end = words.indexOf('--')
  const own = end === -1 ? words : words.slice(0, end)
  return own.some((word, index) => {
    const format = word === '-o' || word === '--output' ? own[index + 1] : /^(?:-o|--output=)(.+)$/.exec(word)?.[1]
    return word === '--json' || format === 'json' || format === 'ndjson'
  })
}

function readReason(text: string | undefined): string | undefined {
  const reason = text?.trim() || undefined
  if (reason !== undefined && [...reason].length > longestReason)
    throw usageFailure(`--reason has more than ${longestReason} characters`)
  return reason
}

function readTimeout(text: string | undefined): number {
  if (text === undefined) return standardTimeoutMs
  const milliseconds = parseDuration(/^[\d.]+$/.test(text) ? `${text}s` : text)
  if (!milliseconds || milliseconds > 3_600_000)
    throw usageFailure(`--timeout ${text} is not a time from 1 ms to 1 h`, 'a number of seconds, or 500ms or 2m')
  return milliseconds
}

/** Which service to call, and as which user. */
export interface Connection {
  contextName: string
  /** Undefined if no context has that name yet. */
  context: Context | undefined
  /** Without `/api/v1` and without a final slash. */
  baseUrl: string
  /** No address was given, so `baseUrl` is the default. */
  isStandardAddress: boolean
  /** This command was given --context. */
  isContextNamed: boolean
  /** An access token from AUTHCTL_TOKEN or --token-file. The session of the context is then not used. */
  token: string | undefined
}

/** Where a command acts, as questions and dry runs name it: `in production (https://auth.example.com)`. */
export function placeOf(connection: Connection): string {
  const { contextName, baseUrl } = connection
  return isAtContext(connection) ? `in ${contextName} (${baseUrl})` : `at ${baseUrl}`
}

/** Whether the command calls the service of its context, not one at another address. */
export function isAtContext({ context, baseUrl }: Connection): boolean {
  return context !== undefined && normalizeBaseUrl(context.base_url) === baseUrl
}

/** Whether traffic to this address can be read in transit: it is plain http to another machine. */
export function isReadableOnTheWay(baseUrl: string): boolean {
  const { protocol, hostname } = new URL(baseUrl)
  return protocol === 'http:' && !/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$|\.localhost$/.test(hostname)
}

/** A flag wins over the environment, which wins over the context. A named context must exist, unless `mayBeNew`. */
export function resolveConnection(
  input: Pick<GlobalInput, 'context' | 'baseUrl' | 'tokenFile'>,
  env: Record<string, string | undefined>,
  file: ContextFile,
  { mayBeNew = false }: { mayBeNew?: boolean } = {},
): Connection {
  const named = input.context ?? (env.AUTHCTL_CONTEXT || undefined)
  if (named !== undefined) assertContextName(named)
  const contextName = named ?? file.current ?? 'default'
  const context = findContext(file, contextName)
  if (named !== undefined && !context && !mayBeNew) {
    throw new Failure('notFound', `there is no context "${named}"`, {
      code: 'context_not_found',
      hint: 'authctl context list shows all contexts',
    })
  }
  const token = input.tokenFile === undefined ? env.AUTHCTL_TOKEN?.trim() || undefined : readToken(input.tokenFile)
  if (token !== undefined) assertToken(token, input.tokenFile ?? 'AUTHCTL_TOKEN')
  const address = input.baseUrl ?? (env.AUTHCTL_BASE_URL || context?.base_url)
  return {
    contextName,
    context,
    baseUrl: normalizeBaseUrl(address || standardBaseUrl),
    isStandardAddress: !address,
    isContextNamed: input.context !== undefined,
    token,
  }
}

function readToken(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    throw new Failure('invalid', `cannot read the token file: ${messageOf(error)}`, { code: 'token_unreadable' })
  }
}

function assertToken(token: string, source: string): void {
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new Failure('invalid', `${source} does not contain a token`, { code: 'token_unreadable' })
}

/** Normalizes the address of the service, with or without `/api/v1`. Throws `usage` if it is invalid. */
export function normalizeBaseUrl(raw: string): string {
  const url = URL.parse(raw)
  if (!url || !/^https?:$/.test(url.protocol))
    throw usageFailure(`"${raw}" is not an http or https URL`, 'such as http://127.0.0.1:4000')
  if (url.username || url.password || url.search || url.hash)
    throw usageFailure('the address of the service must not have a user, query or fragment')
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '').replace(/\/api\/v1$/, '')
}
