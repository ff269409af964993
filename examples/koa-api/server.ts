// A backend behind Gatehouse. It reads SERVICE_AUTH_URL, SERVICE_APP_CODE and JWT_ACCESS_SECRET (`authctl app env CODE` prints
// them) and accepts only requests with a token of this app. It checks the token locally, without a call to the service.
import type { AddressInfo } from 'node:net'
import { createAuth } from '@gatehouse/sdk'
import { requireAuth } from '@gatehouse/sdk/koa'
import Koa from 'koa'

const auth = createAuth()
const app = new Koa()
app.use(requireAuth(auth))
app.use((ctx) => {
  ctx.body = { hello: ctx.state.auth.claims.email, app: ctx.state.auth.claims.app_code }
})

await auth.readyWithin(5)
const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => server.close(() => process.exit(0)))
