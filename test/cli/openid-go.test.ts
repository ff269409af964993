// go-oidc 2.1 signs people in, unmodified. Go takes long to fetch, so only `npm run clients` runs this.
import { expect, test } from 'vitest'
import { freePort } from '../support/free-port.ts'
import { signInWithGoOidc } from '../support/go-oidc.ts'
import { visit } from '../support/sign-in-page.ts'
import { addUser, gatehouseFixture, parsed } from './sandbox.ts'

const port = await freePort()
const url = `http://localhost:${port}`
const { service, signedInOnce } = gatehouseFixture({ PORT: String(port), HOST: '127.0.0.1', PUBLIC_URL: url })

test('go-oidc checks signature, nonce and at_hash, and asks userinfo', async () => {
  const here = await signedInOnce()
  expect(service.url).toBeDefined()
  await here.authctl('app create golang --name Go --redirect https://go.example.com/callback --standard --auto-grant')
  const shown = parsed(await here.authctl('app show golang --as generic --new-secret --json'))
  const person = { email: 'rob@example.com', password: 'a fine password' }
  const user = await addUser(here, person)
  await here.authctl(`grant add --app golang --user ${person.email}`)
  const visitor = visit({ url })
  const answer = await signInWithGoOidc(shown, async (asked) => {
    const { app } = await visitor.send(await visitor.get(asked), 'Sign in', person)
    return app!.href
  })
  // The mailbox was never proven, so no address is told.
  expect(answer).toEqual({ subject: user.id, told: user.id, email: '' })
})
