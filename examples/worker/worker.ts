// A Worker behind Gatehouse. `config.capnp` sets its bindings. It accepts only tokens of this app, and checks them locally. It
// also asks the service whether a token is still active, and caches a yes for five seconds. It does not need `nodejs_compat`.
import { type Auth, AuthError, createAuth, type Principal } from '@gatehouse/sdk'

interface Bindings {
  JWT_ACCESS_SECRET: string
  SERVICE_APP_CODE: string
  SERVICE_APP_ID: string
  SERVICE_AUTH_URL: string
}

// Created by the first request, which brings the bindings. They stay the same for the life of the Worker.
let auth: Auth | undefined

/** A Worker does not live long enough to follow the revocation feed. Instead, each one caches what the service has answered. */
const rememberedMs = 5_000
const activeUntil = new Map<string, number>()

async function authenticate(request: Request): Promise<Principal> {
  const principal = await auth!.authenticate(request.headers)
  // A machine token does not stand for a user.
  if (principal.kind !== 'user') throw new AuthError('PERMISSION_DENIED')
  const { jti } = principal.claims
  if ((activeUntil.get(jti) ?? 0) > Date.now()) return principal
  const token = request.headers.get('authorization')!.slice('Bearer '.length)
  if (!(await auth!.api.introspect(token)).active) throw new AuthError('TOKEN_REVOKED')
  if (activeUntil.size >= 10_000) activeUntil.clear()
  activeUntil.set(jti, Date.now() + rememberedMs)
  return principal
}

export default {
  async fetch(request: Request, bindings: Bindings): Promise<Response> {
    auth ??= createAuth({
      authUrl: bindings.SERVICE_AUTH_URL,
      secret: bindings.JWT_ACCESS_SECRET,
      appCode: bindings.SERVICE_APP_CODE,
      appId: bindings.SERVICE_APP_ID,
      revocation: { mode: 'off' },
    })
    try {
      const { claims } = await authenticate(request)
      return Response.json({ hello: claims.email, app: claims.app_code })
    } catch (error) {
      if (!AuthError.is(error)) throw error
      return new Response(null, { status: error.status, headers: error.headers })
    }
  },
}
