// A Worker behind Gatehouse. Its bindings are those of `config.capnp`; it lets in whoever brings a token of this app, checked here,
// without a call to the service. It needs no `nodejs_compat`.
import { type Auth, AuthError, createAuth } from '@gatehouse/sdk'

interface Bindings {
  JWT_ACCESS_SECRET: string
  SERVICE_APP_CODE: string
  SERVICE_APP_ID: string
}

// Bindings come with a request, and are the same for as long as the Worker lives.
let auth: Auth | undefined

export default {
  async fetch(request: Request, bindings: Bindings): Promise<Response> {
    // A Worker follows no revocations: a token is good until it expires, unless `revocation` asks a store of yours.
    auth ??= createAuth({
      secret: bindings.JWT_ACCESS_SECRET,
      appCode: bindings.SERVICE_APP_CODE,
      appId: bindings.SERVICE_APP_ID,
      revocation: { mode: 'off' },
    })
    try {
      const { claims } = await auth.authenticate(request.headers)
      return Response.json({ hello: claims.email, app: claims.app_code })
    } catch (error) {
      if (!AuthError.is(error)) throw error
      return new Response(null, { status: error.status, headers: error.headers })
    }
  },
}
