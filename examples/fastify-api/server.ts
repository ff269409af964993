// A backend behind Gatehouse. It reads SERVICE_AUTH_URL, SERVICE_APP_CODE and JWT_ACCESS_SECRET (`authctl app env CODE` prints
// them) and accepts only requests with a token of this app. It checks the token locally, without a call to the service.
import { createAuth } from '@gatehouse/sdk'
import { authErrorHandler, getAuth, requireAuth } from '@gatehouse/sdk/fastify'
import Fastify from 'fastify'

const auth = createAuth()
const app = Fastify()
app.setErrorHandler(authErrorHandler)
app.addHook('onRequest', requireAuth(auth))
app.get('/', async (request) => {
  const { claims } = getAuth(request)
  return { hello: claims.email, app: claims.app_code }
})
app.delete('/notes', { onRequest: requireAuth(auth, { permissions: ['notes:delete'] }) }, async (_request, reply) => {
  return reply.code(204).send()
})

await auth.readyWithin(5)
console.log(`listening on ${await app.listen({ port: Number(process.env.PORT ?? 3000), host: '127.0.0.1' })}`)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void app.close().then(() => process.exit(0)))
