// A backend behind Gatehouse. It reads SERVICE_AUTH_URL, SERVICE_APP_CODE and JWT_ACCESS_SECRET (`authctl app env CODE` prints
// them) and accepts only requests with a token of this app. It checks the token locally, without a call to the service.
import { createAuth } from '@gatehouse/sdk'
import { requireAuth } from '@gatehouse/sdk/hono'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'

const auth = createAuth()
const app = new Hono()
  .use(requireAuth(auth))
  .get('/', (c) => c.json({ hello: c.var.auth.claims.email, app: c.var.auth.claims.app_code }))
  .delete('/notes', requireAuth(auth, { permissions: ['notes:delete'] }), (c) => c.body(null, 204))

await auth.readyWithin(5)
const server = serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000), hostname: '127.0.0.1' }, ({ port }) => {
  console.log(`listening on http://127.0.0.1:${port}`)
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => server.close(() => process.exit(0)))
