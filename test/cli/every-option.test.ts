// Checks that every command and every option is used in a test of this folder. This file tests those that no other file needs.
import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { flagName } from '../../packages/cli/src/command-line/options.ts'
import { commands } from '../../packages/cli/src/commands/index.ts'
import { addUser, gatehouseFixture, type Machine, parsed, reply, standIn } from './sandbox.ts'

const { signedIn } = gatehouseFixture()

/** Options that all lists share. Testing them on one list is enough. */
const ofEveryList = ['columns', 'limit', 'all']

test('every command and each of its options is used in a test file', () => {
  const files = readdirSync(import.meta.dirname).filter((file) => file.endsWith('.test.ts'))
  const texts = files.map((file) => readFileSync(`${import.meta.dirname}/${file}`, 'utf8'))
  const holds = (text: string, word: string) => new RegExp(`(?<![\\w-])${word}(?![\\w-])`).test(text)
  const missing = commands.flatMap(({ path, options }) => {
    const typing = texts.filter((text) => holds(text, path))
    if (typing.length === 0) return [path]
    return Object.entries(options).flatMap(([key, option]) => {
      if (option.kind === 'positional' || ofEveryList.includes(key)) return []
      const name = flagName(key)
      const spellings = [`--${name}`, `--no-${name}`, ...(option.kind === 'text' && option.short ? [`-${option.short}`] : [])]
      return typing.some((text) => spellings.some((spelling) => holds(text, spelling))) ? [] : [`${path} --${name}`]
    })
  })
  expect(missing).toEqual([])
})

test('app create and app update set the overrides of an app and whether it founds organizations', async () => {
  const { authctl } = await signedIn()
  const shop = parsed(await authctl('app create shop --name Shop --override-role org_member --no-organization-sign-up --json'))
  expect(shop).toMatchObject({ override_role_codes: ['org_member'], organization_sign_up: false })
  const changed = await authctl('app update shop --override-role org_member org_admin --organization-sign-up --json')
  expect(parsed(changed)).toMatchObject({ override_role_codes: ['org_member', 'org_admin'], organization_sign_up: true })
  const cleared = await authctl(['app', 'update', 'shop', '--override-role', '', '--json'])
  expect(parsed(cleared).override_role_codes).toEqual([])
})

test('app create and app update set single sign-on, the maximum age of a sign-in and the days of trust', async () => {
  const { authctl } = await signedIn()
  const app = parsed(
    await authctl('app create vault --name Vault --no-single-sign-on --max-sign-in-age 3600 --trust-days 7 --json'),
  )
  expect(app).toMatchObject({ single_sign_on: false, max_sign_in_age_seconds: 3600, trust_device_days: 7 })
  const changed = await authctl('app update vault --single-sign-on --max-sign-in-age 600 --trust-days 0 --json')
  expect(parsed(changed)).toMatchObject({ single_sign_on: true, max_sign_in_age_seconds: 600, trust_device_days: 0 })
})

test('an app has at most two client secrets, can become confidential, and loses a revoked secret', async () => {
  const { authctl } = await signedIn()
  await authctl('app create charts --name Charts --client public')
  expect((await authctl('app client-secret list charts -o table')).stderr).toBe('no client secrets\n')
  const first = await authctl('app client-secret new charts --json')
  expect(first.stderr).toContain('not shown again')
  const { id, secret } = parsed(first)
  expect(secret).toMatch(/^gcs_[\w-]{43}$/)
  expect((await authctl('app client-secret new charts --dry-run')).stdout).not.toContain('gcs_')
  await authctl('app client-secret new charts --json')
  expect(await authctl('app client-secret new charts --json')).toMatchObject({ exit: 5 })
  expect(parsed(await authctl('app update charts --client confidential --json')).client).toBe('confidential')
  const listed = await authctl('app client-secret list charts --json')
  expect(parsed(listed).map((each: { id: string }) => each.id)).toContain(id)
  expect(listed.stdout).not.toContain(secret)
  expect(await authctl(`app client-secret revoke charts --secret ${id}`)).toMatchObject({ exit: 2 })
  const revoke = () => authctl(`app client-secret revoke charts --secret ${id} --yes --json`)
  expect(parsed(await revoke()).outcome).toBe('revoked')
  expect(parsed(await revoke()).outcome).toBe('unchanged')
  expect(await authctl(`app client-secret revoke chart --secret ${id} --yes`)).toMatchObject({ exit: 3 })
  expect(await authctl('app update authctl --client confidential')).toMatchObject({ exit: 5 })
})

test('signing-key lists and rotates the keys of ID tokens, and replaces a compromised set', async () => {
  const { authctl } = await signedIn()
  const keys = async () => parsed(await authctl('signing-key list --json')) as { kid: string; stage: string }[]
  const first = await keys()
  expect(first.map(({ stage }) => stage)).toEqual(['next', 'current'])
  expect(await authctl('signing-key rotate')).toMatchObject({ exit: 2 })
  const rotated = await authctl('signing-key rotate --yes --json')
  expect(rotated.stderr).toContain('younger than five minutes')
  expect(parsed(rotated).outcome).toBe('rotated')
  const second = await keys()
  expect(second.map(({ stage }) => stage)).toEqual(['next', 'current', 'retired'])
  expect(second.slice(1).map(({ kid }) => kid)).toEqual(first.map(({ kid }) => kid))
  await authctl('signing-key rotate --compromised --yes')
  const third = await keys()
  expect(third.map(({ stage }) => stage)).toEqual(['next', 'current'])
  for (const { kid } of third) expect(second.map((key) => key.kid)).not.toContain(kid)
  expect((await authctl('signing-key list -o table')).stdout).toMatch(/^KID +STAGE/)
})

test('app create and app update set whose sign-in needs a second factor, and from when', async () => {
  const { authctl } = await signedIn()
  const flags = '--require-two-factor admins --require-two-factor-from 2027-01-31'
  const app = parsed(await authctl(`app create safe --name Safe ${flags} --json`))
  expect(app).toMatchObject({ require_two_factor: 'admins', require_two_factor_from: '2027-01-31T00:00:00.000Z' })
  const changed = await authctl([
    'app',
    'update',
    'safe',
    '--require-two-factor',
    'everyone',
    '--require-two-factor-from',
    '',
    '--json',
  ])
  expect(parsed(changed)).toMatchObject({ require_two_factor: 'everyone', require_two_factor_from: null })
  const refused = await authctl('app update safe --require-two-factor-from soon')
  expect(refused).toMatchObject({
    exit: 6,
    stderr: expect.stringContaining('--require-two-factor-from soon is not a valid time'),
  })
})

test('app create and app update set --device-grant, and login --device refuses --password-stdin', async () => {
  const { authctl } = await signedIn()
  await authctl('app create tv --name TV --device-grant --auto-grant')
  expect(parsed(await authctl('app update tv --no-device-grant --json')).device_grant).toBe(false)
  expect(await authctl('login --device --password-stdin')).toMatchObject({ exit: 2 })
})

test('role create --assignable-by sets who may give the role', async () => {
  const { authctl } = await signedIn()
  const role = parsed(await authctl('role create billing --name B --scope org --assignable-by org_admin --json'))
  expect(role).toMatchObject({ code: 'billing', assignable_by: 'org_admin' })
})

test('user update --last-name changes only the last name', async () => {
  const here = await signedIn()
  await add(here, 'lou@example.com')
  await here.authctl('user update lou@example.com --first-name Lou')
  const user = parsed(await here.authctl('user update lou@example.com --last-name Reed --json'))
  expect(user).toMatchObject({ first_name: 'Lou', last_name: 'Reed' })
})

test('user update --locale changes only the language, and audit show undoes it', async () => {
  const here = await signedIn()
  await add(here, 'eva@example.com')
  await here.authctl('user update eva@example.com --first-name Eva --locale de')
  const user = parsed(await here.authctl('user update eva@example.com --locale fr-ca --json'))
  expect(user).toMatchObject({ first_name: 'Eva', locale: 'fr-CA', outcome: 'updated' })
  expect(parsed(await here.authctl('user update eva@example.com --locale fr-CA --json')).outcome).toBe('unchanged')
  const [event] = parsed(await here.authctl('audit list --event user.updated --limit 1 --json'))
  expect(parsed(await here.authctl(`audit show ${event.id} --json`)).undo).toMatch(/ --locale de$/)
  expect(parsed(await here.authctl('user update eva@example.com --locale "" --json'))).toMatchObject({ locale: null })
  expect((await here.authctl('user update eva@example.com --locale german')).exit).toBe(6)
})

test('user offboard --keep-service-accounts keeps the service accounts that the person created', async () => {
  const boss = await signedIn()
  const person = await signedIn()
  await add(boss, 'max@example.com')
  await boss.authctl('user role max@example.com --role system_admin')
  const { base_url } = boss.readContexts().contexts.default!
  await person.login(base_url, { email: 'max@example.com', password: 'a fine password' })
  await person.authctl('service-account create theirs --service crm')
  const offboard = 'user offboard max@example.com --confirm max@example.com --json'
  expect((await boss.authctl(`${offboard} --keep-service-accounts`)).exit).toBe(0)
  const names = async () => parsed(await boss.authctl('service-account list --json')).map(({ name }: { name: string }) => name)
  expect(await names()).toContain('theirs')
  expect((await boss.authctl(offboard)).exit).toBe(0)
  expect(await names()).not.toContain('theirs')
})

test('sso-provider creates a disabled provider, enables it, and deletes it with its links', async () => {
  const { authctl } = await signedIn()
  const input = 'a secret of both\n'
  const create =
    'sso-provider create corp --issuer https://id.example.com --client-id g --no-enabled --client-secret-stdin --json'
  expect(parsed(await authctl(create, { input }))).toMatchObject({ code: 'corp', enabled: false })
  expect(parsed(await authctl('sso-provider update corp --enabled --json'))).toMatchObject({ enabled: true })
  const planned = parsed(await authctl('sso-provider delete corp --force --dry-run --json'))
  expect(planned.request).toMatchObject({ method: 'DELETE', url: expect.stringContaining('force=true') })
  expect((await authctl('sso-provider delete corp --force --confirm corp')).exit).toBe(0)
})

test('audit tail --actor asks only for the events of that actor', async () => {
  const { url, requests } = await standIn(({ path }, response) => {
    const items = path.includes('/users') ? [{ id: '01997c2f-0000-7000-8000-000000000001', email: 'a@example.com' }] : []
    reply(response, 200, { items, next_cursor: null })
  })
  const here = await signedIn()
  const env = { AUTHCTL_TOKEN: 't', AUTHCTL_BASE_URL: url }
  const tail = here.terminal('audit tail --actor a@example.com', { env })
  const asked = () => requests.find(({ path }) => path.includes('/admin/audit'))?.path
  await expect.poll(asked, { interval: 20 }).toContain('actor_id=01997c2f-0000-7000-8000-000000000001')
  tail.type('\u0003')
  expect((await tail.ended()).exit).toBe(130)
})

test('secret rotate --watch also waits without a terminal', async () => {
  let looks = 0
  const { url } = await standIn((_, response) => {
    looks += 1
    // One look at the state takes six requests.
    const current = { kid: looks <= 6 ? 'aaaaaaaa' : 'bbbbbbbb' }
    const since = { signing_since: '2026-11-23T00:00:00.000Z', access_token_seconds: 900 }
    reply(response, 200, { service_id: 'one', current, previous: null, consumers: [], ...since })
  })
  const here = await signedIn()
  const env = { AUTHCTL_TOKEN: 't', AUTHCTL_BASE_URL: url }
  const rotated = await here.authctl('secret rotate --next bbbbbbbb --watch --json', { env })
  expect(parsed(rotated)).toMatchObject({ step: 5, verdict: 'done' })
  expect(looks).toBe(12)
})

async function add(here: Machine, email: string): Promise<void> {
  await addUser(here, { email, password: 'a fine password', namespace: 'default' })
}
