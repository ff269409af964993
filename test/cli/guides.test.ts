// Runs every code block of some pages as it stands, from top to bottom: commands by authctl and gatehouse, requests by HTTP. A block
// that cannot be run says why: `<!-- notest: needs a database of Supabase -->`.
import { execFile, spawnSync } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { callHttp, type Json } from '../support/client.ts'
import { createDatabase } from '../support/database.ts'
import { buildPng } from '../support/images.ts'
import { startInstance } from '../support/server-instance.ts'
import { runGatehouse } from '../support/server-process.ts'
import { addUser, admin, type Machine, machine } from './sandbox.ts'

const docs = fileURLToPath(new URL('../../docs/', import.meta.url))

interface Block {
  language: string
  text: string
  /** Why it is not run. */
  notest: string | undefined
}

/** Of a page, or of the section that stands after `#`. */
function blocksOf(place: string): Block[] {
  const [page = '', heading] = place.split('#')
  const whole = readFileSync(join(docs, page), 'utf8')
  const text = heading === undefined ? whole : whole.split(/^## /m).find((section) => section.startsWith(`${heading}\n`))!
  return [...text.matchAll(/(?:<!-- notest: (.+?) -->\n)?^( *)```(\w*)\n([\s\S]*?)^\2```$/gm)].map(
    ([, notest, indent = '', language = '', block = '']) => ({
      language,
      text: block.replaceAll(`\n${indent}`, '\n').trimStart(),
      notest,
    }),
  )
}

interface Place {
  here: Machine
  url: string
  settings: Record<string, string>
}

async function buildPlace(more: Record<string, string> = {}): Promise<Place> {
  const database = await createDatabase('sqlite')
  onTestFinished(() => database.drop())
  const settings = {
    ...more,
    DATABASE_URL: database.url,
    AUTH_BOOTSTRAP_ADMIN_EMAIL: admin.email,
    AUTH_BOOTSTRAP_ADMIN_PASSWORD: admin.password,
  }
  const { url } = await startInstance(settings)
  const here = machine()
  await here.login(url)
  return { here, url, settings }
}

/** What was given to a caller so far, by the name that pages write in braces. */
type Given = Record<string, string>

async function send(block: string, url: string, given: Given): Promise<Json> {
  const [head = '', body] = block.split('\n\n')
  const [line = '', ...headers] = head.trim().split('\n')
  const [method = '', path = ''] = filled(line, given).split(' ')
  const authorization = headers
    .map((header) => filled(header, given))
    .find((header) => header.startsWith('Authorization: Bearer '))
  const reply = await callHttp(url + path, method, {
    ...(authorization && { token: authorization.replace('Authorization: Bearer ', '') }),
    ...(body?.trim() && { body: JSON.parse(filled(body, given)) }),
  })
  expect({ line, ok: reply.status < 300 }).toEqual({ line, ok: true })
  for (const name of ['access_token', 'refresh_token']) if (reply.body?.[name]) given[name] = reply.body[name]
  const other = reply.body?.items?.find?.((session: Json) => session.current === false)
  if (other) given.session_id = other.id
  return reply.body
}

function filled(text: string, given: Given): string {
  return text.replace(/\{(\w+)\}/g, (_, name: string) => given[name] ?? expect.fail(`no ${name} was given before`))
}

/** Runs the lines of a block for the shell, of which none needs one. */
async function runLines(block: string, { here, settings }: Place): Promise<void> {
  for (const line of block.trim().split('\n')) {
    const [redirected = '', file] = line.replace(/\s+# .*/, '').split(' < ')
    const [command = '', out] = redirected.trim().split(' > ')
    if (command === '') continue
    const [program, ...words] = command.split(' ')
    const input = file === undefined ? '' : readFileSync(join(here.folder, file), 'utf8')
    if (program === 'gatehouse') {
      const { code, stderr } = await runGatehouse(words, settings, input)
      expect({ line, code, stderr }).toMatchObject({ line, code: 0 })
    } else {
      expect(program).toBe('authctl')
      const { exit, stdout, stderr } = await here.authctl(command.replace(/^authctl /, ''), { input })
      expect({ line, exit, stderr }).toMatchObject({ line, exit: 0 })
      if (out !== undefined) writeFileSync(join(here.folder, out), stdout)
    }
  }
}

/** Runs commands of authctl that a page takes for done. */
const after =
  (...commands: string[]) =>
  async ({ here }: Place) => {
    for (const command of commands) expect(await here.authctl(command)).toMatchObject({ exit: 0 })
  }
const shop = 'app create shop --name Shop --redirect https://shop.example.com/callback --auto-grant'
const bob = 'user create --email bob@example.com'

const guides: Record<string, (place: Place) => Promise<unknown>> = {
  'administer/admin-roles.md': after(
    shop,
    bob,
    'user create --email carol@example.com',
    'grant add --app shop --user bob@example.com',
  ),
  'administer/apps.md': async () => {},
  'administer/audit.md': after(shop),
  'administer/importing-users.md': async ({ here }) =>
    writeFileSync(join(here.folder, 'users.ndjson'), '{"email": "ada@example.com"}\n'),
  'administer/own-keys.md': after(shop),
  'administer/require-second-factor.md': after(shop),
  'administer/service-accounts.md': async () => {},
  'administer/users.md': after(shop),
  'guard-a-backend/sdk-other-languages.md': after(
    'app create reports --name Reports --redirect https://reports.example.com/callback',
  ),
  'guard-a-backend/service-to-service.md': async ({ here }) => {
    for (const app of ['orders', 'billing'])
      await here.authctl(`app create ${app} --name ${app} --redirect https://${app}.example.com/callback`)
    const input = '[{"code": "orders:read", "name": "Read orders"}]'
    expect(await here.authctl('permission register --service orders -f -', { input })).toMatchObject({ exit: 0 })
  },
  'operate/deep-check.md': async () => {},
  'operate/first-production-day.md': async ({ here }) =>
    writeFileSync(join(here.folder, 'password.txt'), 'a long enough password\n'),
  'operate/mail.md': ({ here }) => addUser(here, { email: 'bob@example.com', password: 'a fine password' }),
  'sign-users-in/account-mail.md#Preview a mail, and send a test': after(shop),
  'sign-users-in/branding-and-languages.md': async ({ here }) => {
    writeFileSync(join(here.folder, 'shop.png'), buildPng(40, 20))
    await here.authctl('app create shop --name Shop --redirect https://shop.example.com/callback')
  },
  'sign-users-in/by-http.md': ({ here }) => here.authctl('app create shop --name Shop --auto-grant'),
  'sign-users-in/cookie-sessions.md': after('app create notes --name Notes --redirect https://notes.example.com/callback'),
  'sign-users-in/openid-connect.md': async () => {},
  'sign-users-in/phone-apps.md': async () => {},
  'sign-users-in/sign-in-page.md': async ({ here }) => writeFileSync(join(here.folder, 'notes.png'), buildPng(40, 20)),
  'start/migrating.md': async ({ here }) => {
    const lines = blocksOf('start/migrating.md').find(({ language }) => language === 'json')!
    writeFileSync(join(here.folder, 'users.ndjson'), lines.text)
  },
  'start/limits.md': async () => {},
  'why/extending.md': async () => {},
}

/** Pages whose commands another test runs. */
const elsewhere: Record<string, string> = {
  'administer/declarative.md': 'cli/declarative',
  'guard-a-backend/revocation.md': 'cli/guides',
  'operate/deploying.md': 'workspace/deployment',
  'operate/restoring.md': 'faults/point-in-time',
  'operate/rotating-the-secret.md': 'contract/secret-rotation-guide',
  'operate/sealed-audit.md': 'contract/sealed-audit',
  'start/overview.md': 'e2e/npm-start',
  'start/quickstarts.md': 'packaging/quickstarts',
}

test('every page with commands runs here or names the test that runs it', () => {
  const left = globSync('*/*.md', { cwd: docs }).filter((page) => {
    const runs =
      !/^(runbooks|reference\/authctl)\//.test(page) &&
      blocksOf(page).some(({ language, notest }) => language === 'sh' && !notest)
    return runs && !Object.keys(guides).some((each) => each.split('#')[0] === page) && elsewhere[page] === undefined
  })
  expect(left).toEqual([])
  for (const [page, file] of Object.entries(elsewhere))
    expect(readFileSync(join(docs, `../test/${file}.test.ts`), 'utf8')).toContain(page.split('/')[1])
})

test.each(Object.entries(guides))('every block of %s runs as printed, or says why not', async (page, prepare) => {
  const place = await buildPlace()
  await prepare(place)
  const given: Given = {}
  let answer: Json
  let signIn = ''
  for (const { language, text, notest } of blocksOf(page)) {
    if (notest !== undefined) continue
    if (language === 'sh') await runLines(text, place)
    else if (language === 'http') {
      // What ends a session would end the page here.
      if (/^POST \S+\/login\n/.test(text)) signIn = text
      answer = await send(text, place.url, given)
      if (/^POST \S+\/logout\n/.test(text)) await send(signIn, place.url, given)
    } else if (language === 'json' && answer) expect(answer).toMatchObject(shapeOf(JSON.parse(text)))
    // Blocks of code are compiled in `sdk-examples.test.ts`; a drawing or an answer has no language.
    else expect(['', 'js', 'ts', 'tsx', 'json', 'text', 'console', 'html', 'python']).toContain(language)
  }
})

/** What an answer must look like: the same members, and the same numbers. Ids and tokens differ. */
function shapeOf(example: Json): Json {
  if (typeof example === 'string') return expect.any(String)
  if (example === null || typeof example !== 'object') return example
  return Object.fromEntries(Object.entries(example).map(([name, value]) => [name, shapeOf(value)]))
}

test('a user imported with a bcrypt hash signs in with the old password, and other hashes are refused', async () => {
  const { here, url } = await buildPlace()
  await guides['start/migrating.md']!({ here, url, settings: {} })
  await here.authctl('app create shop --name Shop')
  expect((await here.authctl('user import -f users.ndjson')).exit).toBe(0)
  const body = { email: 'grace@example.com', password: 'the old password', app_code: 'shop' }
  expect((await callHttp(`${url}/api/v1/auth/login`, 'POST', { body })).status).toBe(200)
  const others = [
    '$argon2id$v=19$m=65536,t=3,p=4$c2FsdA$aGFzaA',
    'pbkdf2-sha256$27500$c2FsdA$aGFzaA',
    'lSrfV15cpx95/sZS2W9c9Kp6i==',
  ]
  const lines = others.map((hash, index) => JSON.stringify({ email: `eve${index}@example.com`, password_hash: hash }))
  writeFileSync(join(here.folder, 'others.ndjson'), `${lines.join('\n')}\n`)
  const refused = await here.authctl('user import -f others.ndjson --json')
  expect(refused.exit).toBe(8)
  expect(JSON.parse(refused.stdout)).toMatchObject({ failed: 3, imported: 0 })
  expect(refused.stdout.match(/validation_failed/g)).toHaveLength(3)
})

const hasTools = ['bash', 'openssl', 'curl', 'od'].every((tool) => spawnSync(tool, ['--version']).status !== null)

test.skipIf(!hasTools)(
  'the script of guard-a-backend/revocation.md gets the revocations of an app with openssl alone',
  async () => {
    const secret = 'a secret of this test, "quoted" and longer than 32 bytes'
    const { here, url } = await buildPlace({ JWT_ACCESS_SECRET: secret })
    await after(shop)({ here, url, settings: {} })
    const script = blocksOf('guard-a-backend/revocation.md').find(({ language }) => language === 'sh')!.text
    const env = { PATH: process.env.PATH, JWT_ACCESS_SECRET: secret, SERVICE_APP_CODE: 'shop', SERVICE_AUTH_URL: url }
    const { stdout } = await promisify(execFile)('bash', ['-c', script], { env })
    expect(JSON.parse(stdout)).toMatchObject({ items: [], has_more: false })
  },
)
