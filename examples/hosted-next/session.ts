import { type Auth, createAuth } from '@gatehouse/sdk'
import { createWebSession, type WebSession } from '@gatehouse/sdk/web'

// Next.js may load this file once per bundle. All bundles share one `auth`, and with it one stream of revocations.
const shared: { auth?: Auth; session?: WebSession } = globalThis as object

/** Read their settings at the first request, so `next build` does not need them. */
export const auth: Auth = shared.auth ?? createAuth({ lazy: true })
export const session: WebSession = shared.session ?? createWebSession(auth, { lazy: true })
Object.assign(shared, { auth, session })
