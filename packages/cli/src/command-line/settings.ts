import { readFileSync } from 'node:fs'
import { assertContextName, type Context, type ContextFile, findContext } from './contexts.ts'
import { parseDuration } from './duration.ts'
import { Failure, messageOf, usageFailure } from './exit-codes.ts'
import type { GlobalInput } from './options.ts'

export type Format = string

/** What the flags for every command come to. */
export interface Settings {
  format: Format
  /** JSON was asked for, so that a failure is JSON too. */
  asksForJson: boolean
  /** As given by flag, for commands that store it. */
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

/** Which formats a command has, and which of them it takes without `-o`. */
export interface Formats {
  all: readonly string[]
  terminal: Format
  pipe: Format
}

const standardFormats: Formats = { all: commonFormats, terminal: 'table', pipe: 'json' }

/** Those of a list. */
export const listFormats: Formats = { ...standardFormats, all: [...commonFormats, 'wide', 'csv', 'id'] }

export function readSettings(
  input: GlobalInput,
  { isTerminal, formats = standardFormats }: { isTerminal: boolean; formats?: Formats | undefined },
): Settings {
  const asked = input.json ? 'json' : input.output
  if (input.json && input.output !== undefined && input.output !== 'json')
    throw usageFailure('--json and -o contradict each other')
  if (asked !== undefined && !formats.all.includes(asked)) throw usageFailure(`-o ${asked} is none of ${formats.all.join(', ')}`)
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

const longestReason = 500

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
    throw usageFailure(`--timeout ${text} is no time from 1 ms to 1 h`, 'seconds, or 500ms, 2m')
  return milliseconds
}

/** Which service is spoken to, and as whom. */
export interface Connection {
  contextName: string
  /** Undefined if no context has that name yet. */
  context: Context | undefined
  /** Without `/api/v1` and without a final slash. */
  baseUrl: string
  /** Nobody named the address: it is where a service runs unless told. */
  isStandardAddress: boolean
  /** The context was named by --context of this very command. */
  isContextNamed: boolean
  /** An access token that is given from outside; the context's session is then left alone. */
  token: string | undefined
}

/** Where a command acts, as questions and dry runs name it: `in production (https://auth.example.com)`. */
export function placeOf(connection: Connection): string {
  const { contextName, baseUrl } = connection
  return isAtContext(connection) ? `in ${contextName} (${baseUrl})` : `at ${baseUrl}`
}

/** Whether the service is that of the context, and no other address was given for this command. */
export function isAtContext({ context, baseUrl }: Connection): boolean {
  return context !== undefined && normalizeBaseUrl(context.base_url) === baseUrl
}

/** What goes there can be read on the way: plain http to another machine. */
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
      hint: 'authctl context list shows what there is',
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
  if (!/^[\x21-\x7e]+$/.test(token)) throw new Failure('invalid', `${source} holds no token`, { code: 'token_unreadable' })
}

/** The address of the service in one spelling, whether given with `/api/v1` or without. */
export function normalizeBaseUrl(raw: string): string {
  const url = URL.parse(raw)
  if (!url || !/^https?:$/.test(url.protocol))
    throw usageFailure(`"${raw}" is no http or https address`, 'such as http://127.0.0.1:4000')
  if (url.username || url.password || url.search || url.hash)
    throw usageFailure('the address of the service has no user, query or fragment')
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '').replace(/\/api\/v1$/, '')
}
