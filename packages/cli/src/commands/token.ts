import type { components } from '@gatehouse/sdk/admin'
import { inspectToken } from '@gatehouse/sdk/inspect'
import { bodyOf } from '../api/api-client.ts'
import { Failure, usageFailure } from '../command-line/exit-codes.ts'
import { optionalPositional, text } from '../command-line/options.ts'
import { parseAppRef } from '../nouns/app-ref.ts'
import { inLanes } from '../nouns/in-lanes.ts'
import { shownUser, userRefOf } from '../nouns/user-ref.ts'
import type { Column } from '../output/cells.ts'
import { type Result, rowsOf } from '../output/render.ts'
import { toCommandLine } from '../text/shell-words.ts'
import { command } from '../tools/command.ts'
import type { Tools } from '../tools/create-tools.ts'
import { readSecretFile } from '../tools/read-secret-file.ts'

export const inspect = command({
  path: 'token inspect',
  options: {
    source: optionalPositional('-', 'Read the token from standard input. Default on a terminal: ask for it'),
    secretFile: text('FILE', 'File with the signing secret. Without it, nothing is verified'),
    app: text('CODE', 'Code of the app that the token must be for', { completes: 'apps' }),
    issuer: text('NAME', 'Required value of iss. Default: gatehouse'),
  },
  summary: 'Decode an access token, and verify it with the secret',
  description:
    'Runs the checks of docs/guard-a-backend/tokens.md in their order, except revocation. If one fails, names the first and exits with 6. ' +
    'Nothing is sent anywhere, and the token itself is not shown.',
  examples: [
    'token inspect',
    'token inspect - < token.txt',
    'token inspect - --secret-file secret.txt --app shop --json < token.txt',
  ],
  async run(tools, input) {
    const token = await readToken(tools, input.source, 'token inspect')
    const secrets = input.secretFile === undefined ? [] : [readSecretFile(input.secretFile)]
    const appCode = input.app === undefined ? undefined : parseAppRef(input.app)
    const { valid, header, claims, checks } = await inspectToken(token, {
      secrets,
      appCode,
      issuer: input.issuer,
      now: tools.now,
    })
    const failed = checks.find(({ ok }) => !ok)
    if (valid === null) tools.io.note('decoded, not verified: --secret-file FILE verifies it')
    return {
      kind: 'report',
      value: { valid, failed_check: failed?.code ?? null, header, claims, checks },
      parts: [
        rowsOf([...checks], [['check', ({ name }) => name], 'ok', 'code', 'detail']),
        ...(header ? ['', { record: header }] : []),
        ...(claims ? ['', { record: withTimes(claims) }] : []),
      ],
      failure: failed && new Failure('invalid', `${failed.name}: ${failed.detail}`, { code: failed.code! }),
    }
  },
})

/** Adds the date to claims that hold seconds since 1970. */
function withTimes(claims: Record<string, unknown>): Record<string, unknown> {
  const shown = { ...claims }
  for (const name of ['exp', 'nbf', 'iat']) {
    const seconds = claims[name]
    if (typeof seconds === 'number' && Number.isSafeInteger(seconds) && Math.abs(seconds) <= 8.64e12)
      shown[name] = `${seconds} (${new Date(seconds * 1000).toISOString()})`
  }
  return shown
}

type Trace = components['schemas']['TokenTrace']

export const traceToken = command({
  path: 'token trace',
  options: {
    source: optionalPositional('-', 'Read tokens from standard input, one per line. Default on a terminal: ask for one'),
  },
  summary: 'Show whose token it is, what it gives access to, and how to end it',
  description:
    'For a token that was found in a log, a repository or a chat: an access token, a refresh token, a machine token, or the token of a ' +
    'service account (gsa_). The service looks it up without using it, and records in the audit that you asked. The token is sent in the ' +
    'body of the request, never in a URL, and is not shown. If the service does not know it, exits with 3. Several tokens are listed by ' +
    'number; if the service does not know one of them, exits with 8.',
  examples: ['token trace', 'token trace - < token.txt', 'token trace - --json --reason "found in a log" < token.txt'],
  async run(tools, { source }) {
    const [token, ...others] = await readTokens(tools, source, 'token trace')
    if (others.length > 0) return traceAll(tools, [token, ...others])
    const trace = await traceOne(tools, token)
    const { remedies } = trace
    return {
      kind: 'report',
      value: trace,
      parts: [{ record: recordOf(trace) }, '', meaningOf(trace), ...remedies.map((line) => `  ${line}`)],
      failure: trace.state === 'unknown' ? unknownToken : undefined,
    }
  },
})

async function traceOne({ api }: Tools, token: string): Promise<Trace & { remedies: string[] }> {
  const trace = await bodyOf(api.POST('/api/v1/admin/tokens/trace', { body: { token } }))
  return { ...trace, remedies: remediesOf(trace).map((words) => `authctl ${toCommandLine(words)}`) }
}

async function traceAll(tools: Tools, tokens: readonly string[]): Promise<Result> {
  const rows: (Awaited<ReturnType<typeof traceOne>> & { number: number })[] = []
  await inLanes([...tokens.entries()], async ([index, token]) => {
    rows[index] = { number: index + 1, ...(await traceOne(tools, token)) }
  })
  const unknown = rows.filter(({ state }) => state === 'unknown').length
  // Several tokens may belong to one session, so its remedy is listed once.
  const remedies = [...new Set(rows.flatMap(({ remedies: [narrowest] }) => narrowest ?? []))]
  const columns: Column<(typeof rows)[number]>[] = [
    'number',
    'kind',
    'state',
    ['whose', ({ user, service_account }) => (user ? shownUser(userRefOf(user)) : service_account?.name)],
    ['app', ({ session }) => session?.app?.code],
    'expires_at',
  ]
  return {
    kind: 'report',
    value: { total: rows.length, unknown, tokens: rows },
    parts: [rowsOf(rows, columns), ...(remedies.length > 0 ? ['', 'to end them:', ...remedies.map((line) => `  ${line}`)] : [])],
    failure:
      unknown > 0
        ? new Failure('failures', `the service does not know ${unknown} of ${rows.length} tokens`, { code: 'token_unknown' })
        : undefined,
  }
}

const unknownToken = new Failure('notFound', 'the service does not know this token', {
  code: 'token_unknown',
  hint: 'it may be cut off, from another environment (--context), or from a service account that was deleted or rotated',
})

function recordOf({ kind, state, expires_at, user, session, service_account, ...opens }: Trace): Record<string, unknown> {
  const of = {
    kind,
    state,
    expires_at,
    ...(user ? { user: userRefOf(user), user_id: user.id, status: user.status } : {}),
  }
  if (service_account) {
    const { id, name, service, scopes, app_codes, last_used_at } = service_account
    const its = { service_account: name, id, service, scopes, apps: app_codes, last_used_at }
    return kind === 'machine' ? { ...of, ...its, permissions: opens.permissions } : { ...of, ...its }
  }
  if (!session) return of
  const {
    id,
    alive,
    app,
    organization,
    auth_method,
    second_factor,
    refused_by_policy,
    ip,
    user_agent,
    created_at,
    last_used_at,
  } = session
  const its = { app: app?.code ?? null, organization: organization?.slug ?? null, session: id, session_alive: alive }
  return { ...of, ...its, auth_method, second_factor, refused_by_policy, ip, user_agent, created_at, last_used_at, ...opens }
}

function meaningOf({ state, session, service_account, administers }: Trace): string {
  const reach = administers ? ' It gives access to the admin API.' : ''
  switch (state) {
    case 'forged':
      return 'The signing secret has leaked: this token is signed with it, but the service never issued it. Replace the secret now:'
    case 'live':
      return service_account ? 'It is live. Give the account a new token, or delete it:' : `It is live.${reach} End it:`
    case 'unknown':
      return 'It is not from this service.'
    default:
      return session?.alive
        ? `It is ${state}, but its session is still active. End it:`
        : `It is ${state} and gives access to nothing.`
  }
}

/** The commands that end the token, the narrowest first. */
function remediesOf({ kind, state, user, session, service_account }: Trace): string[][] {
  if (state === 'forged') return [['secret', 'rotate', '--leaked']]
  if (kind === 'service_account' || kind === 'machine') {
    if (state !== 'live' || !service_account) return []
    const { id, name } = service_account
    return [
      ['service-account', 'rotate', id, '--yes'],
      ['service-account', 'delete', id, '--confirm', name],
    ]
  }
  if (!user || !session?.alive) return []
  return [
    ['user', 'session', 'end', user.id, '--session', session.id],
    ['user', 'logout', user.id],
  ]
}

/** Like `readTokens`, for a single token. Throws `usage` if there are several. */
export async function readToken(tools: Tools, source: string | undefined, path: string): Promise<string> {
  const [token, ...others] = await readTokens(tools, source, path)
  if (others.length > 0) throw usageFailure('standard input contains more than one token', 'authctl token trace - takes several')
  return token
}

/**
 * Reads tokens from standard input, one per line, or one from a hidden prompt. `source` is the argument on the command line,
 * which may only be `-`. The failure does not repeat it, since it may be the token.
 */
export async function readTokens(
  { io, prompt }: Tools,
  source: string | undefined,
  path: string,
): Promise<[string, ...string[]]> {
  if (source !== undefined && source !== '-')
    throw usageFailure('a token is never taken on the command line', `authctl ${path} - reads it from standard input`)
  // A pipe works like `-`.
  const asks = source !== '-' && io.inputIsTerminal
  if (asks && !io.canAsk) throw usageFailure('a token is required', `authctl ${path} - reads it from standard input`)
  const typed = asks ? await prompt.hidden('Token:') : await io.readInput()
  const [first, ...others] = typed.split(/\s+/).filter((word) => word !== '')
  if (first === undefined) throw usageFailure('standard input does not contain a token')
  return [first, ...others]
}
