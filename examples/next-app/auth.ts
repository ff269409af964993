import { type Auth, createAuth } from '@gatehouse/sdk'

// Next.js may load this file once per bundle. All bundles share one `Auth`, and with it one stream of revocations.
const shared: { auth?: Auth } = globalThis as { auth?: Auth }

/** Reads SERVICE_AUTH_URL, SERVICE_APP_CODE and JWT_ACCESS_SECRET on first use, so `next build` does not need them. */
export const auth: Auth = shared.auth ?? createAuth({ lazy: true })
shared.auth = auth
