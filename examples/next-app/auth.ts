import { createAuth } from '@gatehouse/sdk'

/** Reads SERVICE_AUTH_URL, SERVICE_APP_CODE and JWT_ACCESS_SECRET at the first request, so that `next build` needs none of them. */
export const auth = createAuth({ lazy: true })
