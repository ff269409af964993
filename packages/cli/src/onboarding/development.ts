// What `app onboard --dev` adds: the secret of a service on this machine, a service account, and a user to try the app with.
import { createHmac, hash } from 'node:crypto'
import { join } from 'node:path'
import type { components } from '@gatehouse/sdk/admin'
import { inspectToken } from '@gatehouse/sdk/inspect'
import { keyIdOf } from '@gatehouse/sdk/protocol'
import { bodyOf } from '../api/api-client.ts'
import { Failure, usageFailure } from '../command-line/exit-codes.ts'
import { findOnlyUserId, userRefOf } from '../nouns/user-ref.ts'
import { readIfThere } from '../terminal/write-file.ts'
import { toCommandLine } from '../text/shell-words.ts'
import type { Tools } from '../tools/create-tools.ts'
import { grantFirst } from './grant-first.ts'
import { type Journal, note } from './journal.ts'

type App = components['schemas']['App']

/** Where a service without a configured secret keeps the one it generates. In production it generates none. */
const secretFile = join('.gatehouse', 'jwt-access-secret')

/** What the backend of an app gets from a service on this machine. */
export interface Development {
  secret: string
  /** Token of the service account. Undefined until there is one. */
  serviceToken: string | undefined
}

/** How to call the backend. */
interface Access {
  /** A user to try the app with. */
  user: { email: string; namespace: string; password: string }
  access_token: string
  /** In seconds. */
  expires_in: number
}

/**
 * The signing secret of a service on this machine, from the folder that it was started in. Only a secret that the service
 * generated itself is used, which never exists in production, and only if the service says that it signs with it. So an address
 * that leads elsewhere, such as the end of a tunnel, is refused before anything is done there.
 */
export async function readLocalSecret({ api, connect }: Tools, folder: string): Promise<string> {
  const { baseUrl } = connect()
  if (!/^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(baseUrl).hostname))
    throw usageFailure(`--dev is for a service on this machine, not for ${baseUrl}`, 'nothing was done')
  const file = join(folder, secretFile)
  const secret = readIfThere(file)?.trim()
  if (!secret) {
    throw new Failure('invalid', `${file} cannot be read: it contains the secret of a service that was started for development`, {
      code: 'no_local_secret',
      hint: '--service-folder FOLDER says where the service was started (npm start: its clone); nothing was done',
    })
  }
  const { current } = await bodyOf(api.GET('/api/v1/admin/secrets'))
  if (keyIdOf(secret, hash) === current.kid) return secret
  throw new Failure('invalid', `the service at ${baseUrl} does not sign with the secret in ${file}`, {
    code: 'other_secret',
    hint: '--service-folder FOLDER says where this service was started; a secret that was configured is not passed on; nothing was done',
  })
}

/** Creates what a backend and its developer need to begin: a service account, a user with access, and a token of that user. */
export async function equip(
  tools: Tools,
  app: App,
  { secret, serviceToken }: Development,
  journal: Journal,
): Promise<{ development: Development; access: Access }> {
  const token = serviceToken ?? (await createAccount(tools, app, journal))
  const user = userFor(app, secret)
  const ref = userRefOf(user)
  await grantFirst(tools, app.code, { ref, id: await ensureUser(tools, user, journal) }, journal)
  return { development: { secret, serviceToken: token }, access: { user, ...(await signIn(tools, user, app, secret)) } }
}

/** Lines for a terminal. */
export function describeAccess({ user, access_token, expires_in }: Access): string[] {
  return [
    `${user.email} can sign in, with the password ${user.password}`,
    `This calls your backend as that user, for ${Math.floor(expires_in / 60)} minutes; run the same command again for a new token:`,
    '',
    `curl -H "Authorization: Bearer ${access_token}" http://127.0.0.1:3000/`,
  ]
}

/** Creates an account that may register the permissions of the app's service. */
async function createAccount(tools: Tools, { code, service_codes: [service = code] }: App, journal: Journal): Promise<string> {
  const name = `${code}, development`
  const created = bodyOf(tools.api.POST('/api/v1/admin/service-accounts', { body: { name, service } }))
  const { token } = await created.catch((error: unknown) => {
    if (!(error instanceof Failure) || error.code !== 'service_account_name_taken') throw error
    const { code: reason, requestId } = error
    throw new Failure('conflict', `the settings of ${code} are in another file, with the token of its service account`, {
      code: reason,
      requestId,
      hint: [
        'give --dotenv the file of the first run, or copy that file',
        `to start over: ${toCommandLine(['authctl', 'service-account', 'delete', name])}`,
      ].join('\n'),
      cause: error,
    })
  })
  const words = ['service-account', 'create', name, '--service', service]
  note(tools, journal, { step: `service account for ${service}`, outcome: 'created' }, words)
  return token!
}

/**
 * One user for all apps of a pool. The password is derived from the secret, so that the next run knows it too. That adds no risk:
 * the holder of the secret can sign any token anyway.
 */
function userFor({ registration_namespace }: App, secret: string): Access['user'] {
  const password = createHmac('sha256', secret).update('gatehouse development user').digest('base64url')
  return { email: 'dev@example.com', namespace: registration_namespace, password }
}

/** Returns the id of the user, and creates the user if needed. */
async function ensureUser(tools: Tools, user: Access['user'], journal: Journal): Promise<string> {
  const ref = userRefOf(user)
  const there = await findOnlyUserId(tools.api, ref)
  if (there !== undefined) return there
  const { id } = await bodyOf(tools.api.POST('/api/v1/admin/users', { body: { ...user, email_verified: true } }))
  const words = ['user', 'create', '--email', user.email, '--pool', user.namespace, '--verified', '--password-stdin']
  note(tools, journal, { step: `user ${ref}`, outcome: 'created' }, words)
  return id
}

/** Logs the user in to the app. Throws if a backend with these settings would refuse the token. */
async function signIn(
  { anonymousApi, connect, now }: Tools,
  user: Access['user'],
  app: App,
  secret: string,
): Promise<Pick<Access, 'access_token' | 'expires_in'>> {
  const { email, password } = user
  const api = anonymousApi(connect().baseUrl)
  const login = bodyOf(api.POST('/api/v1/auth/login', { body: { email, password, app_code: app.code } }))
  const { access_token, expires_in } = await login.catch((error: unknown) => {
    if (!(error instanceof Failure) || error.code !== 'invalid_credentials') throw error
    const { code, requestId } = error
    throw new Failure('conflict', `${userRefOf(user)} has a different password than the one that --dev set`, {
      code,
      requestId,
      hint: `authctl user delete ${userRefOf(user)} lets --dev create it again`,
      cause: error,
    })
  })
  const { checks } = await inspectToken(access_token, { secrets: [secret], appCode: app.code, appId: app.id, now })
  const failed = checks.find(({ ok }) => !ok)
  if (failed)
    throw new Failure('invalid', `a backend would refuse the token of ${email}: ${failed.detail}`, { code: failed.code! })
  return { access_token, expires_in }
}
