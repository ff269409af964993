// Walks through the main use of Gatehouse on the running service, as its users would: authctl for the admin, HTTP for the user,
// the SDK in examples/koa-api for the backend. Each step prints what was done and the real answer. A wrong answer stops the walk.
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { styleText } from 'node:util'
import type { Children } from './children.ts'

export interface TourOptions {
  root: string
  /** Where the service keeps its secrets. */
  folder: string
  url: string
  /** Without a password, the walk uses the session that authctl keeps. */
  admin: { email: string; password: string | undefined }
  children: Children
  /** Where authctl keeps the session of the admin. */
  context: string
}

interface HttpReply {
  status: number
  body: Record<string, unknown>
}

/** authctl has no session of an admin at this service. */
export class NotSignedInError extends Error {}

/** Exit codes of authctl: the context does not exist, and not signed in. */
const notSignedInCodes = [3, 4]

let step = 0

function title(text: string): void {
  step += 1
  console.log(`\n${styleText('bold', `${step}. ${text}`, { stream: process.stdout })}`)
}

function show(kind: '$' | '>' | '=', text: string): void {
  const mark =
    kind === '='
      ? styleText('green', '  =', { stream: process.stdout })
      : styleText('dim', `  ${kind}`, { stream: process.stdout })
  for (const line of text.trimEnd().split('\n')) console.log(`${mark} ${line}`)
}

/** Shows the members of an answer that matter for the step. */
function showMembers(answer: Record<string, unknown>, names: readonly string[]): void {
  show('=', names.map((name) => `${name}: ${answer[name]}`).join(', '))
}

function expectStatus(what: string, reply: HttpReply, status: number): void {
  if (reply.status !== status)
    throw new Error(`The tour stopped: ${what} answered ${reply.status} ${JSON.stringify(reply.body)}, expected ${status}`)
}

/** A revocation takes some milliseconds to reach a backend. */
async function untilRefused(ask: () => Promise<HttpReply>): Promise<HttpReply> {
  let reply = await ask()
  for (let tries = 0; tries < 50 && reply.status === 200; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    reply = await ask()
  }
  return reply
}

/** Walks from onboarding an app to the refused login. Throws NotSignedInError, or an Error if a step gives a wrong result. */
export async function runTour(options: TourOptions): Promise<void> {
  const { root, url, children } = options
  const authctlFile = join(root, 'packages/cli/dist/authctl.js')
  const userPassword = randomBytes(12).toString('base64url')
  const email = `ada-${randomBytes(3).toString('hex')}@example.com`

  /** Runs the real authctl and returns its JSON answer. */
  const authctl = async (args: string[], stdin?: string): Promise<Record<string, unknown>> => {
    show('$', `authctl ${args.join(' ')} --json`)
    const done = await children.run('node', [authctlFile, ...args, '--json'], {
      ...(stdin === undefined ? {} : { stdin }),
      // Sets the address, because another clone may have signed in to its own service with this context.
      env: { AUTHCTL_CONTEXT: options.context, AUTHCTL_BASE_URL: url },
    })
    if (args[0] === 'whoami' && notSignedInCodes.includes(done.code)) throw new NotSignedInError(`not signed in at ${url}`)
    if (done.code !== 0)
      throw new Error(`The tour stopped: authctl ended with exit code ${done.code}
${done.stderr}`)
    return JSON.parse(done.stdout) as Record<string, unknown>
  }
  const call = async (target: string, path: string, init: { body?: unknown; token?: string }): Promise<HttpReply> => {
    const reply = await fetch(target + path, {
      method: init.body === undefined ? 'GET' : 'POST',
      headers: { 'content-type': 'application/json', ...(init.token ? { authorization: `Bearer ${init.token}` } : {}) },
      body: init.body === undefined ? null : JSON.stringify(init.body),
    })
    return { status: reply.status, body: (await reply.json()) as Record<string, unknown> }
  }
  const login = (app: string) => call(url, '/api/v1/auth/login', { body: { email, password: userPassword, app_code: app } })

  title('The admin signs in')
  if (options.admin.password !== undefined) {
    const args = ['login', '--email', options.admin.email, '--password-stdin', '--base-url', url]
    showMembers(await authctl(args, `${options.admin.password}\n`), ['outcome', 'email'])
  } else {
    showMembers(await authctl(['whoami']), ['email'])
  }

  title('The admin onboards an app, and a second one')
  // With a redirect URL, as production requires: readers copy these commands.
  for (const [code, name, ...more] of [
    ['notes', 'Notes'],
    ['shop', 'Shop', '--auto-grant'],
  ] as const) {
    const redirect = `https://${code}.example.com/callback`
    const words = ['app', 'create', code, '--name', name, '--redirect', redirect, ...more, '--if-exists', 'skip']
    showMembers(await authctl(words), ['outcome', 'code', 'id'])
  }

  title('The backend of "notes" is configured and started')
  const environment = (await authctl(['app', 'env', 'notes'])) as Record<string, string>
  show(
    '=',
    Object.entries(environment)
      .map(([name, value]) => `${name}=${value}`)
      .join('\n'),
  )
  const secret = process.env.JWT_ACCESS_SECRET ?? readFileSync(join(options.folder, 'jwt-access-secret'), 'utf8').trim()
  const backend = children.start('node', [join(root, 'examples/koa-api/server.ts')], {
    ...environment,
    JWT_ACCESS_SECRET: secret,
    PORT: '0',
  })
  const backendUrl = await children.waitForLine(backend, (line) => /listening on (\S+)/.exec(line)?.[1])
  show('=', `examples/koa-api listens on ${backendUrl}`)

  title('A user registers')
  show('>', `POST ${url}/api/v1/auth/register {"email":"${email}","app_code":"notes",…}`)
  const registration = await call(url, '/api/v1/auth/register', {
    body: { email, password: userPassword, first_name: 'Ada', app_code: 'notes' },
  })
  expectStatus('the registration', registration, 201)
  show('=', `201 created, access: ${registration.body.access}`)

  title('The admin grants access, the user signs in')
  showMembers(await authctl(['grant', 'add', '--app', 'notes', '--user', `${email}@@default`]), ['outcome', 'app_code', 'status'])
  show('>', `POST ${url}/api/v1/auth/login {"email":"${email}","app_code":"notes",…}`)
  const notesLogin = await login('notes')
  expectStatus('the login', notesLogin, 200)
  const notesToken = String(notesLogin.body.access_token)
  show(
    '=',
    `200 ${notesLogin.body.token_type} token of ${notesToken.length} characters, valid for ${notesLogin.body.expires_in} s`,
  )

  title('The backend checks the token locally, without a call to the service')
  show('>', `GET ${backendUrl}/ with that token`)
  const welcome = await call(backendUrl, '/', { token: notesToken })
  expectStatus('the backend', welcome, 200)
  show('=', `200 ${JSON.stringify(welcome.body)}`)

  title('The same user signs in to "shop"; that token works nowhere else')
  const shopLogin = await login('shop')
  expectStatus('the login to shop', shopLogin, 200)
  show('>', `GET ${backendUrl}/ with a token of "shop"`)
  const refused = await call(backendUrl, '/', { token: String(shopLogin.body.access_token) })
  expectStatus('the backend', refused, 401)
  show('=', `401 ${refused.body.code}`)

  title('The admin revokes access, the next sign-in is refused')
  showMembers(await authctl(['grant', 'revoke', '--app', 'notes', '--user', `${email}@@default`, '--yes']), [
    'outcome',
    'app_code',
    'status',
  ])
  show('>', `POST ${url}/api/v1/auth/login {"email":"${email}","app_code":"notes",…}`)
  const denied = await login('notes')
  expectStatus('the login after the revoke', denied, 403)
  show('=', `403 ${denied.body.code}`)

  title('The backend has received the revocation, and refuses the token that the user still holds')
  show('>', `GET ${backendUrl}/ with the token of step 5`)
  const revoked = await untilRefused(() => call(backendUrl, '/', { token: notesToken }))
  expectStatus('the backend', revoked, 401)
  show('=', `401 ${revoked.body.code}`)

  await children.stop(backend)
  console.log(
    `\n${styleText('bold', 'That is all of it: one account, tokens that are each for one app, and access that can be revoked.', { stream: process.stdout })}`,
  )
}
