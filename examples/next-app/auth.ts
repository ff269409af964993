import { type Auth, createAuth } from '@gatehouse/sdk'

// Next.js may load this file once for each of its bundles, which are to share one stream of revocations.
const shared: { auth?: Auth } = globalThis as { auth?: Auth }

/** Reads SERVICE_AUTH_URL, SERVICE_APP_CODE and JWT_ACCESS_SECRET when it is first used, so that `next build` needs none of them. */
export const auth: Auth = shared.auth ?? createAuth({ lazy: true })
shared.auth = auth
