// oidc-client-ts, a client for single-page apps that nobody here wrote, in a real Chromium, at another origin than the service.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { addUser, admin, type Gatehouse, machine, parsed, startGatehouse } from '../cli/sandbox.ts'
import { openBrowser } from '../support/browser.ts'
import { freePort } from '../support/free-port.ts'
import { fetchFromNpm } from '../support/npm-packages.ts'
import { onFileEnd } from '../support/on-file-end.ts'

const browser = openBrowser()
let service: Gatehouse

beforeAll(async () => {
  const port = String(await freePort())
  service = await startGatehouse({ PORT: port, PUBLIC_URL: `http://localhost:${port}` })
  return () => service.stop()
})

/** Serves an app of one page, which uses the library as its documentation says. */
async function serveApp(): Promise<{ origin: string; configure(settings: object): void }> {
  const root = await fetchFromNpm('oidc-client-ts', '1 MB')
  const library = readFileSync(join(root, 'node_modules/oidc-client-ts/dist/browser/oidc-client-ts.min.js'))
  let settings: object = {}
  const page =
    () => `<!doctype html><title>App</title><script src="/library.js"></script><pre id="said"></pre><script type="module">
    const manager = window.manager = new oidc.UserManager(${JSON.stringify(settings)})
    const say = (value) => { document.getElementById('said').textContent = JSON.stringify(value) }
    if (location.search.includes('code=')) {
      try {
        const user = window.user = await manager.signinCallback()
        say({ profile: user.profile, scope: user.scope })
      } catch (error) { say({ error: String(error) }) }
    } else say({ waiting: location.search })
  </script>`
  const server = createServer(({ url }, response) => {
    if (url === '/library.js') response.writeHead(200, { 'content-type': 'text/javascript' }).end(library)
    else response.writeHead(200, { 'content-type': 'text/html' }).end(page())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onFileEnd(async () => {
    server.closeAllConnections()
    server.close()
  })
  const configure = (given: object) => {
    settings = given
  }
  return { origin: `http://localhost:${(server.address() as AddressInfo).port}`, configure }
}

test('oidc-client-ts in Chromium signs in with PKCE, reads userinfo, refreshes and signs out', async () => {
  const app = await serveApp()
  const boss = machine()
  await boss.login(service.url)
  await boss.authctl(`app create spa --name Spa --redirect ${app.origin}/ --auto-grant`)
  const shown = parsed(await boss.authctl('app show spa --as generic --json'))
  // A public app has no secret.
  app.configure({
    ...{ authority: shown.issuer, client_id: shown.client_id, redirect_uri: shown.redirect_uri, scope: shown.scope },
    ...{ post_logout_redirect_uri: shown.redirect_uri, loadUserInfo: true },
  })
  const person = { email: 'spa@example.com', password: 'a fine password' }
  await addUser(boss, person)
  await boss.authctl(`grant add --app spa --user ${person.email}`)

  const page = await browser.newPage()
  const said = async () => JSON.parse((await page.locator('#said').textContent()) || '{}')
  await page.goto(app.origin)
  await page.evaluate('void manager.signinRedirect()')
  await page.getByLabel('E-mail address').fill(person.email)
  await page.getByLabel('Password').fill(person.password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.waitForURL(`${app.origin}/**`)
  await expect.poll(said).toMatchObject({ profile: { aud: 'spa', iss: shown.issuer, roles: expect.any(Array) } })
  const before = await page.evaluate<string>('user.access_token')
  const after = await page.evaluate<string>('manager.signinSilent().then((renewed) => renewed.access_token)')
  expect(after).not.toBe(before)

  await page.evaluate('void manager.signoutRedirect({ state: "bye" })')
  await page.waitForURL(`${app.origin}/?state=*`)
  await expect.poll(said).toMatchObject({ waiting: expect.stringContaining('state=') })
  await page.evaluate('void manager.signinRedirect()')
  await page.getByRole('heading', { name: 'Sign in', exact: true }).waitFor()
  expect(admin.email).not.toBe(person.email)
})
