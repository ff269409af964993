import { randomBytes } from 'node:crypto'
import type { components } from '@gatehouse/sdk/admin'
import { bodyOf } from '../api/api-client.ts'
import { Failure, messageOf } from '../command-line/exit-codes.ts'
import { grantAccess } from '../nouns/grant-access.ts'
import { userRefOf } from '../nouns/user-ref.ts'
import type { Tools } from '../tools/create-tools.ts'

type App = components['schemas']['App']

/** A user created for one probe. */
export interface ProbeUser {
  /** A good token of the app. */
  token: string
  /** Ends the session, so that the token is revoked. */
  revoke(): Promise<void>
}

/**
 * Creates a user of the app, and deletes the user after `use`, whether or not that throws. Ctrl-C leaves no time for that: the
 * failure then names the user and the command that deletes them.
 */
export async function withProbeUser<T>(tools: Tools, app: App, use: (user: ProbeUser) => Promise<T>): Promise<T> {
  const { api } = tools
  const unique = randomBytes(8).toString('hex')
  const user = { email: `probe-${unique}@example.com`, namespace: app.registration_namespace }
  const password = randomBytes(24).toString('base64url')
  const removal = `authctl user delete ${userRefOf(user)} --confirm ${user.email}`
  const forget = tools.onInterrupt(
    () =>
      new Failure('interrupted', `interrupted; the user ${user.email} was not deleted`, { code: 'interrupted', hint: removal }),
  )
  try {
    const { id } = await bodyOf(api.POST('/api/v1/admin/users', { body: { ...user, password, email_verified: true } }))
    const params = { path: { userId: id } }
    try {
      await grantAccess(api, { userId: id, appId: app.id }, {})
      const token = await logIn(tools, { email: user.email, password, app_code: app.code })
      return await use({
        token,
        revoke: async () => void (await api.POST('/api/v1/admin/users/{userId}/logout', { params })),
      })
    } finally {
      await remove(tools, id).catch((error: unknown) =>
        tools.io.complain(`the user ${user.email} was not deleted (${messageOf(error)}): ${removal}`),
      )
    }
  } finally {
    forget()
  }
}

async function logIn(
  { anonymousApi, connect }: Tools,
  body: { email: string; password: string; app_code: string },
): Promise<string> {
  const { access_token } = await bodyOf(anonymousApi(connect().baseUrl).POST('/api/v1/auth/login', { body }))
  return access_token
}

async function remove({ api }: Tools, userId: string): Promise<void> {
  await api.DELETE('/api/v1/admin/users/{userId}', { params: { path: { userId }, query: { erase: true } } })
}
