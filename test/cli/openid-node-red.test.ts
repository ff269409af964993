// Node-RED 5, a product that nobody here wrote, signs its editor's users in with passport-openidconnect.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { freePort } from '../support/free-port.ts'
import { fetchFromNpm } from '../support/npm-packages.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { visit } from '../support/sign-in-page.ts'
import { addUser, gatehouseFixture, parsed } from './sandbox.ts'

const port = await freePort()
const url = `http://localhost:${port}`
const { signedInOnce } = gatehouseFixture({ PORT: String(port), HOST: '127.0.0.1', PUBLIC_URL: url })

/** Starts Node-RED with the values that `app show --as generic` prints. */
async function startNodeRed(at: number, shown: Record<string, string>): Promise<string> {
  const root = await fetchFromNpm('node-red', '120 MB')
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-node-red-'))
  const modules = join(root, 'node_modules')
  writeFileSync(
    join(folder, 'settings.js'),
    `module.exports = {
  uiPort: ${at}, uiHost: '127.0.0.1', telemetry: { enabled: false, updateNotification: false },
  logging: { console: { level: 'warn' } },
  adminAuth: {
    type: 'strategy',
    strategy: {
      name: 'openidconnect', label: 'Sign in',
      strategy: require(${JSON.stringify(join(modules, 'passport-openidconnect'))}).Strategy,
      options: {
        issuer: ${JSON.stringify(shown.issuer)},
        authorizationURL: ${JSON.stringify(shown.authorization_endpoint)},
        tokenURL: ${JSON.stringify(shown.token_endpoint)},
        userInfoURL: ${JSON.stringify(shown.userinfo_endpoint)},
        clientID: ${JSON.stringify(shown.client_id)},
        clientSecret: ${JSON.stringify(shown.client_secret)},
        callbackURL: ${JSON.stringify(shown.redirect_uri)},
        scope: ${JSON.stringify(shown.scope)},
        nonce: true,
        verify: (issuer, profile, done) => done(null, { ...profile, username: profile.id }),
      },
    },
    users: async (username) => ({ username, permissions: '*' }),
  },
}
`,
  )
  const child = spawn(
    process.execPath,
    [join(modules, 'node-red/red.js'), '--userDir', folder, '--settings', join(folder, 'settings.js')],
    {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text: Buffer) => {
      said += text
    })
  const gone = new Promise<void>((resolve) => child.once('close', () => resolve()))
  onFileEnd(async () => {
    child.kill('SIGTERM')
    await gone
    rmSync(folder, { recursive: true, force: true })
  })
  const site = `http://localhost:${at}`
  for (let tries = 0; ; tries += 1) {
    const reply = await fetch(`${site}/auth/login`).catch(() => undefined)
    if (reply?.ok) return site
    if (child.exitCode !== null || tries > 1_200) throw new Error(`Node-RED does not start\n${said}`)
    await sleep(50)
  }
}

test('Node-RED with passport-openidconnect admits a user of this service and nobody else to its editor', async () => {
  const here = await signedInOnce()
  const at = await freePort()
  const callback = `http://localhost:${at}/auth/strategy/callback`
  await here.authctl(`app create red --name Red --redirect ${callback} --standard --auto-grant`)
  const site = await startNodeRed(at, parsed(await here.authctl('app show red --as generic --new-secret --json')))
  expect((await fetch(`${site}/settings`)).status).toBe(401)

  const person = { email: 'red@example.com', password: 'a fine password' }
  const user = await addUser(here, { ...person, first_name: 'Rosa' })
  await here.authctl(`grant add --app red --user ${person.email}`)
  const begun = await fetch(`${site}/auth/strategy`, { redirect: 'manual' })
  const cookie = begun.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ')
  const visitor = visit({ url })
  const page = await visitor.get(begun.headers.get('location')!)
  const { app: back } = await visitor.send(page, 'Sign in', person)
  expect(back!.href).toContain(callback)

  // Another browser has not begun it.
  const foreign = await fetch(back!, { redirect: 'manual' })
  expect(foreign.headers.get('location') ?? '').not.toContain('?code=')

  const other = await visitor.get(begun.headers.get('location')!)
  const entered = await fetch(other.app!, { redirect: 'manual', headers: { cookie } })
  // `+` stands for itself there.
  const code = /[?&]code=([^&]+)/.exec(entered.headers.get('location')!)![1]!
  const exchanged = await fetch(`${site}/auth/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ grant_type: 'authorization_code', code }),
  })
  const { accessToken: token } = (await exchanged.json()) as { accessToken: string }
  const settings = await fetch(`${site}/settings`, { headers: { authorization: `Bearer ${token}` } })
  expect(settings.status).toBe(200)
  expect(((await settings.json()) as { user: { username: string } }).user.username).toBe(user.id)
})
