import { setTimeout as sleep } from 'node:timers/promises'
import type { components } from '@gatehouse/sdk/admin'
import { type Api, bodyOf, twoFactorRequired } from '../api/api-client.ts'
import { ownAppCode, storedTokens } from '../api/session.ts'
import { assertContextName, findContext } from '../command-line/contexts.ts'
import { Failure, usageFailure } from '../command-line/exit-codes.ts'
import { flag, type Input, off, text } from '../command-line/options.ts'
import { isReadableOnTheWay, normalizeBaseUrl } from '../command-line/settings.ts'
import { userRefOf } from '../nouns/user-ref.ts'
import { type Result, record } from '../output/render.ts'
import { askFor, declined } from '../terminal/prompt.ts'
import { command } from '../tools/command.ts'
import type { Tools } from '../tools/create-tools.ts'
import { askForCode, readSecrets, type Secrets } from '../tools/read-secrets.ts'

type Tokens = components['schemas']['Tokens']

const options = {
  email: text('EMAIL', 'E-mail of your account. Default: the one in the context'),
  browser: off('Ask for the password here instead of opening the sign-in page in your browser'),
  device: flag('Show a code to type at the sign-in page in a browser elsewhere, such as on your phone'),
  passwordStdin: flag('Read the password from the first line of standard input, and a two-factor code from the second'),
}

export const login = command({
  path: 'login',
  summary: 'Sign in and keep the session in a context',
  description:
    'Opens the sign-in page of the service in your browser, prints its address, and waits until you have signed in there. Asks ' +
    'whether to go on, unless it is the account that you named. Without a browser (no display, over SSH), with --no-browser, and at a ' +
    'service that has no such page, asks for e-mail and password without showing it, and for a two-factor code if the account needs one. With --device, shows a code to type in a browser elsewhere; that needs a second factor. Without a terminal, --password-stdin or --device is required. Stores the ' +
    'session in the context in use, or in the one that --context names ("default" if there is none), in a file that only you can read. ' +
    'A token that identifies this machine stays there after a logout, so that wrong passwords from elsewhere cannot lock you out here.',
  examples: [
    'login --base-url https://auth.example.com',
    'login --base-url https://auth.example.com --context production --device',
    'login --email ada@example.com --password-stdin < password.txt',
  ],
  options,
  run: runLogin,
})

async function runLogin(tools: Tools, input: Input<typeof options>): Promise<Result> {
  const { io, settings } = tools
  const { contextName, context, baseUrl, isStandardAddress } = tools.connect({ mayBeNew: true })
  assertContextName(contextName)
  // With JSON, a failure must be the only thing on stderr. `note` holds warnings back until the command has succeeded.
  const warn = settings.asksForJson ? io.note : io.complain
  if (isStandardAddress) warn(`warning: no address was given, so this uses the default, ${baseUrl} (--base-url)`)
  if (isReadableOnTheWay(baseUrl))
    warn(`warning: ${baseUrl} is plain http to another machine: passwords and tokens can be read in transit`)
  const email = input.email || context?.email || undefined
  // Never send the tokens of one service to another.
  const device = context && normalizeBaseUrl(context.base_url) === baseUrl ? context.device_token : undefined
  const isByBrowser = input.browser && !input.passwordStdin && io.canAsk && !settings.dryRun
  if (input.device && input.passwordStdin) throw usageFailure('--device and --password-stdin cannot be used together')
  const answer =
    (input.device && (await byDevice(tools, baseUrl, email))) ||
    (isByBrowser && (await tryBrowser(tools, baseUrl, email))) ||
    (await askAndSignIn(tools, input, { baseUrl, email, device }))
  // The sign-in page keeps what identifies the browser there.
  const device_token = answer.device_token ?? device

  const isCurrent = await tools.contexts.change((file) => {
    const before = findContext(file, contextName)
    if (before && before.base_url !== baseUrl)
      io.note(`context "${contextName}" was for ${before.base_url} and is now for ${baseUrl}`)
    file.contexts[contextName] = {
      base_url: baseUrl,
      email: answer.user.email,
      tokens: storedTokens(answer, tools.now()),
      ...(device_token === undefined ? {} : { device_token }),
      ...(before?.protected ? { protected: true } : {}),
    }
    file.current ??= contextName
    return file.current === contextName
  })
  if (!isCurrent) io.note(`"${contextName}" is not the context in use: authctl context use ${contextName}`)
  return record({ context: contextName, base_url: baseUrl, email: answer.user.email, user_id: answer.user.id }, 'signed_in')
}

/** Signs in by a code that the person types elsewhere. Asks whether to go on, as after the page. */
async function byDevice(tools: Tools, baseUrl: string, email: string | undefined): Promise<Tokens> {
  const { isAccount } = await import('../tools/sign-in-by-browser.ts')
  const answer = await signInByDevice(tools, baseUrl)
  if (tools.io.canAsk && !isAccount(answer, email)) await confirmAccount(tools, answer, baseUrl)
  return answer
}

/** Undefined if there is no browser here, or no page to sign in on. */
async function tryBrowser(tools: Tools, baseUrl: string, email: string | undefined): Promise<Tokens | undefined> {
  const { io, openBrowser: open } = tools
  if (!open) return undefined
  const { isAccount, signInByBrowser } = await import('../tools/sign-in-by-browser.ts')
  const answer = await signInByBrowser(tools, { baseUrl, open, email })
  if (!answer) io.note(`${baseUrl} has no sign-in page, so authctl asks for the password here`)
  if (answer && !isAccount(answer, email)) await confirmAccount(tools, answer, baseUrl)
  return answer
}

/**
 * Other users of this machine can read the address of the page in the arguments of the browser. With its state, one of them could
 * answer with an account of their own, so nobody works as an account that they have neither named nor confirmed.
 */
async function confirmAccount(
  { prompt, anonymousApi }: Tools,
  { user, refresh_token: token }: Tokens,
  baseUrl: string,
): Promise<void> {
  if (await prompt.yesOrNo(`Go on as ${user.email}?`)) return
  await bodyOf(anonymousApi(baseUrl).POST('/oauth/revoke', { body: { token, client_id: ownAppCode } }))
  throw declined()
}

interface Account {
  baseUrl: string
  email: string | undefined
  device: string | undefined
}

async function askAndSignIn(
  tools: Tools,
  { passwordStdin }: Pick<Input<typeof options>, 'passwordStdin'>,
  { baseUrl, email: known, device }: Account,
): Promise<Tokens> {
  const email = known ?? (await askFor(tools, '--email', 'E-mail:'))
  tools.io.note(`signing in at ${baseUrl} as ${email}`)
  const { password, code } = await readSecrets(tools, passwordStdin)
  return signIn(tools, tools.anonymousApi(baseUrl), { email, password, code, device })
}

async function signIn(
  tools: Tools,
  api: Api,
  { email, password, code, device }: Secrets & { email: string; device: string | undefined },
): Promise<Tokens> {
  const attempt = (two_factor_code?: string) =>
    bodyOf(
      api.POST('/api/v1/auth/login', {
        body: {
          email,
          password,
          app_code: ownAppCode,
          ...(device ? { device_token: device } : {}),
          ...(two_factor_code ? { two_factor_code } : {}),
        },
      }),
    )
  try {
    return await attempt(code)
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== twoFactorRequired) throw error
    return attempt(await askForCode(tools))
  }
}

export const logout = command({
  path: 'logout',
  options: { all: flag('End all of your sessions, in every app and on every machine') },
  summary: 'End the session of a context',
  description:
    'Deletes the tokens on this machine even if the service cannot be reached. ' +
    'With --all, deletes them only after the service has ended the sessions, because another try needs them.',
  examples: ['logout', 'logout --context production', 'logout --all'],
  async run(tools, { all }) {
    return all ? endAllSessions(tools) : endOwnSession(tools)
  },
})

async function endAllSessions(tools: Tools): Promise<Result> {
  const { contextName, context, baseUrl, token } = tools.connect()
  await tools.api.POST('/api/v1/auth/logout-all')
  // A token from AUTHCTL_TOKEN or --token-file may belong to another user than the context.
  if (token !== undefined) return record({ context: null, base_url: baseUrl, email: null }, 'signed_out')
  await tools.contexts.change((file) => {
    const stored = findContext(file, contextName)
    if (stored) stored.tokens = null
  })
  return record({ context: contextName, base_url: baseUrl, email: context?.email ?? null }, 'signed_out')
}

async function endOwnSession(tools: Tools): Promise<Result> {
  const { contexts, settings } = tools
  const { contextName, context } = tools.connect()
  const answer = { context: contextName, base_url: context?.base_url ?? null, email: context?.email ?? null }
  if (!context?.tokens) return record(answer, 'unchanged')
  if (settings.dryRun) await endSession(tools, context.base_url, context.tokens.refresh_token)
  const ended = await contexts.change((file) => {
    const stored = findContext(file, contextName)
    const tokens = stored?.tokens
    if (stored) stored.tokens = null
    return tokens
  })
  if (ended) await endSession(tools, context.base_url, ended.refresh_token)
  return record(answer, 'signed_out')
}

/** Ends the session at the service that it belongs to, whatever --base-url says. */
async function endSession({ anonymousApi }: Tools, baseUrl: string, refreshToken: string): Promise<void> {
  await anonymousApi(normalizeBaseUrl(baseUrl)).POST('/api/v1/auth/logout', { body: { refresh_token: refreshToken } })
}

export const whoami = command({
  path: 'whoami',
  summary: 'Show who is signed in, and where',
  examples: ['whoami', 'whoami --context production', 'whoami --json'],
  options: {},
  async run(tools) {
    const { contextName, baseUrl, token } = tools.connect()
    const { user, roles, two_factor } = await bodyOf(tools.api.GET('/api/v1/auth/me'))
    return record({
      email: user.email,
      user_id: user.id,
      user: userRefOf(user),
      roles,
      system_admin: roles.includes('system_admin'),
      two_factor,
      base_url: baseUrl,
      context: token === undefined ? contextName : null,
    })
  },
})

const grantType = 'urn:ietf:params:oauth:grant-type:device_code'

/**
 * Signs a person in who allows it in a browser elsewhere (RFC 8628). Throws `device_grant_denied`, `device_code_expired`, and what
 * the service refuses.
 */
async function signInByDevice({ io, anonymousApi }: Pick<Tools, 'io' | 'anonymousApi'>, baseUrl: string): Promise<Tokens> {
  const api = anonymousApi(baseUrl)
  const begun = await bodyOf(api.POST('/oauth/device_authorization', { body: { client_id: ownAppCode } }))
  io.complain(`open this page in a browser: ${begun.verification_uri}`)
  io.complain(`and type this code there: ${begun.user_code}`)
  io.note('waiting for you there; Ctrl-C ends it')
  const body = { grant_type: grantType, client_id: ownAppCode, device_code: begun.device_code }
  for (let seconds = begun.interval; ; ) {
    await sleep(seconds * 1_000)
    try {
      return (await bodyOf(api.POST('/oauth/token', { body }))) as Tokens
    } catch (error) {
      const code = error instanceof Failure ? error.code : ''
      if (code === 'slow_down') seconds += 5
      else if (code !== 'authorization_pending') throw asNotSignedIn(error)
    }
  }
}

/** A refused code is no wrong input of the person. */
function asNotSignedIn(error: unknown): unknown {
  if (!(error instanceof Failure) || error.ending !== 'invalid') return error
  const { message, code, requestId } = error
  return new Failure('notSignedIn', message, { code, hint: 'authctl login --device', requestId })
}
