// Runs the commands of each page of docs/runbooks as written: at most two to find the cause, and one to fix it. One page is a table
// of signs instead.
import { createHmac, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { assertionOf, kidOf } from '../support/consumer.ts'
import { createDatabase, type DatabaseKind } from '../support/database.ts'
import { fixture } from '../support/fixture.ts'
import { freePort } from '../support/free-port.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { startReceiver } from '../support/receiver.ts'
import { type ServerInstance, startInstance } from '../support/server-instance.ts'
import { runGatehouse } from '../support/server-process.ts'
import { totpAt } from '../support/totp.ts'
import { addUser, admin, type Ended, type Machine, machine, nobody, parsed, register, startGatehouse } from './sandbox.ts'

const folder = fileURLToPath(new URL('../../docs/runbooks/', import.meta.url))
const pages = readdirSync(folder).filter((file) => file !== 'README.md' && file !== 'at-three-in-the-morning.md')
const secret = 'a secret of this test alone, and long enough'
const password = 'a fine password'

const titles = ['Find out', 'Put it right'] as const

/** The commands under a heading of a page, without the name of the program. */
function commandsIn(page: string, title: (typeof titles)[number]): string[] {
  const text = readFileSync(join(folder, page), 'utf8')
  const section = text.split(/^## /m).find((part) => part.startsWith(`${title}\n`)) ?? ''
  return [...section.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block]) =>
    block!
      .trim()
      .split('\n')
      .map((line) => line.replace(/^authctl /, '')),
  )
}

test('a runbook has few commands that find the cause and put it right, and the list names every page', () => {
  const list = readFileSync(join(folder, 'README.md'), 'utf8')
  for (const page of pages) {
    const [answers, cures] = titles.map((title) => commandsIn(page, title).length)
    // Two pages have two fixes: a token may be a user's or a service account's, and a phone may hold codes and a passkey.
    const most = page === 'token-leaked.md' || page === 'lost-phone.md' ? 2 : 1
    expect({ page, isShort: answers! >= 1 && answers! <= 2 && cures! >= 1 && cures! <= most }).toEqual({ page, isShort: true })
    expect(list).toContain(`](${page})`)
  }
})

/** The first command that an answer prints: `  authctl user unlock …`. */
const printedIn = ({ stdout }: Ended) => /^ {2}authctl (.*)$/m.exec(stdout)![1]!

describe.each<DatabaseKind>(['sqlite', 'postgres'])('the runbooks on %s', (kind) => {
  const service = fixture(() =>
    startGatehouse({ JWT_ACCESS_SECRET: secret, AUTH_LOCKOUT_THRESHOLD: '2', AUTH_TRUST_PROXY: '1' }, kind),
  )
  afterAll(() => service.stop())

  async function onCall(): Promise<Machine> {
    const here = machine()
    await here.login(service.url)
    return here
  }

  /** Runs the commands of a page that find the cause, and returns their output as a terminal shows it. */
  async function findOut({ authctl }: Machine, page: string, input?: string): Promise<Ended[]> {
    const answers: Ended[] = []
    for (const line of commandsIn(page, 'Find out')) {
      // A shell would read the file after `<`; here `input` replaces it.
      const [command] = line.split(' < ')
      const answer = await authctl(`${command} -o table`, input === undefined ? {} : { input })
      expect({ line, exit: answer.exit }).toEqual({ line, exit: 0 })
      answers.push(answer)
    }
    return answers
  }

  async function putRight({ authctl }: Machine, command: string): Promise<Ended> {
    const ended = await authctl(`${command} -o table`)
    expect({ command, exit: ended.exit }).toEqual({ command, exit: 0 })
    return ended
  }

  async function call(method: string, path: string, { body, token, ip }: { body?: object; token?: string; ip?: string } = {}) {
    const headers = {
      'content-type': 'application/json',
      ...(token ? { authorization: `Bearer ${token}` } : {}),
      ...(ip ? { 'x-forwarded-for': ip } : {}),
    }
    const reply = await fetch(`${service.url}/api/v1${path}`, {
      method,
      headers,
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    const text = await reply.text()
    return { status: reply.status, body: text === '' ? {} : JSON.parse(text) }
  }
  const login = (email: string, typed = password, ip?: string) =>
    call('POST', '/auth/login', { body: { email, password: typed, app_code: 'shop' }, ...(ip ? { ip } : {}) })
  const me = async (token: string) => (await call('GET', '/auth/me', { token })).status

  /** Creates the app `shop` and registers Bob there. */
  async function bobAtShop({ authctl }: Machine) {
    await authctl('app create shop --name Shop --auto-grant --if-exists skip')
    await authctl('user delete bob@example.com --confirm bob@example.com')
    return (await register(service.url, { email: 'bob@example.com', password, app_code: 'shop' })) as {
      user: { id: string }
      access_token: string
      refresh_token: string
    }
  }

  test('the runbook cannot-log-in finds a lockout and removes it', async () => {
    const here = await onCall()
    await bobAtShop(here)
    for (const _ of [1, 2]) await login('bob@example.com', 'wrong')
    expect((await login('bob@example.com')).status).toBe(423)
    const [explained, audited] = await findOut(here, 'cannot-log-in.md')
    expect(explained!.stdout).toContain('account_locked')
    expect(audited!.stdout).toMatch(/login\.failed +bob@example\.com +anonymous +shop +wrong_password/)
    const cure = printedIn(explained!)
    expect(commandsIn('cannot-log-in.md', 'Put it right')).toEqual([cure])
    await putRight(here, cure)
    expect((await login('bob@example.com')).status).toBe(200)
  })

  test('the runbook lost-phone resets the second factor', async () => {
    const here = await onCall()
    const { access_token: token } = await bobAtShop(here)
    const { body: setUp } = await call('POST', '/auth/2fa/setup', { token })
    await call('POST', '/auth/2fa/activate', { token, body: { code: totpAt(setUp.secret, Date.now()) } })
    const [shown] = await findOut(here, 'lost-phone.md')
    expect(shown!.stdout).toMatch(/TWO FACTOR +yes/)
    await putRight(here, commandsIn('lost-phone.md', 'Put it right')[0]!)
    expect((await login('bob@example.com')).status).toBe(200)
  })

  test('the runbook token-leaked finds the owner of a token and ends it', async () => {
    const here = await onCall()
    const [session, account] = commandsIn('token-leaked.md', 'Put it right')
    for (const kindOf of ['access_token', 'refresh_token'] as const) {
      const tokens = await bobAtShop(here)
      const [traced] = await findOut(here, 'token-leaked.md', tokens[kindOf])
      expect(traced!.stdout).toMatch(/STATE +live[\s\S]*USER +bob@example\.com@@default/)
      const cure = printedIn(traced!)
      expect(cure.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, 'USER').replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, 'ID')).toBe(session)
      await putRight(here, cure)
      expect(await me(tokens.access_token)).toBe(401)
      expect((await call('POST', '/auth/refresh', { body: { refresh_token: tokens.refresh_token } })).status).toBe(401)
    }
    const { token } = parsed(await here.authctl('service-account create leaky --service notes --json'))
    const [traced] = await findOut(here, 'token-leaked.md', token)
    const cure = printedIn(traced!)
    expect(cure.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, 'ID')).toBe(account)
    await putRight(here, cure)
    expect((await call('GET', '/admin/service-accounts', { token })).body.code).toBe('token_invalid')
  })

  test('the runbook receiver-down lists the failed deliveries and sends them again', async () => {
    const here = await onCall()
    let isDown = true
    const receiver = await startReceiver((response) => void response.writeHead(isDown ? 410 : 204).end(), onFileEnd)
    await here.authctl('app create shop --name Shop --auto-grant --if-exists skip')
    await here.authctl('api PATCH /admin/apps/shop -f -', {
      input: JSON.stringify({ webhooks: [{ name: 'crm', url: receiver.url }] }),
    })
    for (const email of ['new1@example.com', 'new2@example.com'])
      await register(service.url, { email, password, app_code: 'shop' })
    const failed = async () => parsed(await here.authctl('webhook deliveries --app shop --status failed --json')).length
    await expect.poll(failed, { interval: 50 }).toBe(2)
    const [listed, planned] = await findOut(here, 'receiver-down.md')
    expect(listed!.stdout).toMatch(/crm +failed +1 +410/)
    expect(planned!.stdout).toMatch(/COUNT +2/)
    isDown = false
    await putRight(here, commandsIn('receiver-down.md', 'Put it right')[0]!)
    await expect.poll(() => receiver.requests.length, { interval: 20 }).toBe(4)
    await expect.poll(failed, { interval: 50 }).toBe(0)
    await here.authctl('api PATCH /admin/apps/shop -f -', { input: '{"webhooks": []}' })
  })

  test('the runbook brute-force finds the guesses, and the user can sign in again', async () => {
    const here = await onCall()
    await bobAtShop(here)
    const ip = '203.0.113.7'
    await login('bob@example.com', password, ip)
    for (const _ of [1, 2]) await login('bob@example.com', 'a guess', ip)
    const [guesses, entries] = await findOut(here, 'brute-force.md')
    expect(guesses!.stdout).toContain(ip)
    expect(entries!.stdout).toMatch(/login\.success .*203\.0\.113\.7/)
    expect((await login('bob@example.com')).status).toBe(423)
    await putRight(here, commandsIn('brute-force.md', 'Put it right')[0]!)
    expect((await login('bob@example.com')).status).toBe(200)
  })

  test('the runbook offboard-now closes all accounts of a person', async () => {
    const here = await onCall()
    const { access_token: token } = await bobAtShop(here)
    await addUser(here, { email: 'bob@example.com', password, namespace: 'staff' })
    const [planned] = await findOut(here, 'offboard-now.md')
    expect(planned!.stdout).toMatch(/USER +bob@example\.com@@staff[\s\S]*USER +bob@example\.com@@default/)
    expect(await me(token)).toBe(200)
    const done = await putRight(here, commandsIn('offboard-now.md', 'Put it right')[0]!)
    expect(done.stdout).toMatch(/GRANTS +shop/)
    expect(await me(token)).toBe(401)
    expect((await login('bob@example.com')).status).toBe(403)
    for (const pool of ['staff', 'default']) await here.authctl(`user delete bob@example.com@@${pool} --confirm bob@example.com`)
  })

  test('the runbook who-gave-admin finds who gave the role and takes it away', async () => {
    const here = await onCall()
    await here.authctl('user create --email mallory@example.com --verified')
    await here.authctl('user role mallory@example.com --role system_admin --reason "just for today"')
    const [holders, who] = await findOut(here, 'who-gave-admin.md')
    expect(holders!.stdout).toContain('mallory@example.com')
    expect(who!.stdout).toMatch(new RegExp(`given +${admin.email.replace('.', '\\.')} .*just for today`))
    const cure = printedIn(who!)
    const { id } = parsed(await here.authctl('user show mallory@example.com --json'))
    expect(cure.replace(id, 'mallory@example.com')).toBe(commandsIn('who-gave-admin.md', 'Put it right')[0])
    await putRight(here, cure)
    expect(parsed(await here.authctl('user find --role system_admin --json'))).toHaveLength(1)
  })

  test('the runbook secret-leaked recognizes a forged token and replaces the secret', async () => {
    const database = await createDatabase(kind)
    onTestFinished(() => database.drop())
    const port = String(await freePort())
    let server: ServerInstance | undefined
    const restart = async (current: string) => {
      await server?.stop()
      server = await startInstance({
        DATABASE_URL: database.url,
        PORT: port,
        AUTH_BOOTSTRAP_ADMIN_EMAIL: admin.email,
        AUTH_BOOTSTRAP_ADMIN_PASSWORD: admin.password,
        JWT_ACCESS_SECRET: current,
      })
    }
    await restart(secret)
    const here = machine()
    await here.login(server!.url)
    const poll = async (with_: string) => {
      const token = assertionOf({ code: 'shop' }, { secret: with_, claims: { kids: [kidOf(with_)] } })
      return (await fetch(`${server!.url}/api/v1/revocations`, { headers: { authorization: `Bearer ${token}` } })).status
    }
    await here.authctl('app create shop --name Shop')
    expect(await poll(secret)).toBe(200)
    const own = String(here.readContexts().contexts.default!.tokens!.access_token)
    const [traced, status] = await findOut(here, 'secret-leaked.md', forged(own))
    expect(traced!.stdout).toContain('The signing secret has leaked')
    expect(status!.stdout).toMatch(/\nshop +[0-9a-f]{8} +current/)
    const begun = await putRight(here, commandsIn('secret-leaked.md', 'Put it right')[0]!)
    expect(begun.stdout).toMatch(/VERDICT +wait[\s\S]*all at once/)
    const fresh = readFileSync(join(here.folder, 'secret.txt'), 'utf8').trim()
    await restart(fresh)
    expect([await poll(secret), await poll(fresh)]).toEqual([401, 200])
    // The operator's session continues with a token signed with the new secret.
    const done = await here.authctl('secret rotate --leaked --secret-file secret.txt -o table')
    expect(done.exit).toBe(0)
    expect(done.stdout).toMatch(/VERDICT +done/)
    expect((await here.authctl('token trace -', { input: forged(own) })).exit).toBe(3)
  })
})

test.each<DatabaseKind>(['sqlite', 'postgres'])('the runbook encryption-key-leaked replaces the key on %s', async (kind) => {
  const database = await createDatabase(kind)
  onTestFinished(() => database.drop())
  const [port, old, fresh] = [String(await freePort()), ...[1, 2].map(() => randomBytes(32).toString('base64'))]
  let server: ServerInstance | undefined
  const restart = async (key: string, previous?: string) => {
    await server?.stop()
    server = await startInstance({
      ...{ DATABASE_URL: database.url, PORT: port, JWT_ACCESS_SECRET: secret, AUTH_ENCRYPTION_KEY: key },
      ...(previous && { AUTH_ENCRYPTION_KEY_PREVIOUS: previous }),
      ...{ AUTH_BOOTSTRAP_ADMIN_EMAIL: admin.email, AUTH_BOOTSTRAP_ADMIN_PASSWORD: admin.password },
    })
  }
  /** What `gatehouse check` says without the previous key. */
  const check = async () => (await runGatehouse(['check'], { DATABASE_URL: database.url, AUTH_ENCRYPTION_KEY: fresh! })).stderr
  await restart(old!)
  const here = machine()
  await here.login(server!.url)
  const setWebhook = async () => {
    const { secret } = parsed(await here.authctl('secret new --webhook --json'))
    const webhooks = [{ name: 'crm', url: 'https://crm.example.com/hooks', secret }]
    return here.authctl('api PATCH /admin/apps/shop -f -', { input: JSON.stringify({ webhooks }) })
  }
  await here.authctl('app create shop --name Shop')
  expect((await setWebhook()).exit).toBe(0)
  expect((await here.authctl('signing-key rotate --yes')).exit).toBe(0)

  await restart(old!, fresh)
  await restart(fresh!, old)
  expect((await here.authctl(commandsIn('encryption-key-leaked.md', 'Find out')[0]!)).exit).toBe(0)
  await expect.poll(check).toMatch(/gatehouse: 1 webhook secrets, 2 keys of ID tokens were sealed with another/)
  expect((await here.authctl(commandsIn('encryption-key-leaked.md', 'Put it right')[0]!)).exit).toBe(0)
  expect(await check()).toMatch(/gatehouse: 1 webhook secrets were sealed with another/)
  await setWebhook()
  expect(await check()).not.toContain('sealed with another')
  await restart(fresh!)
  expect((await here.authctl('whoami')).exit).toBe(0)
})

/** A token as a thief of the secret would forge it, with the id of a session that never existed. */
function forged(token: string): string {
  const [header, payload] = token.split('.')
  const claims = { ...JSON.parse(Buffer.from(payload!, 'base64url').toString()), sid: nobody }
  const signed = `${header}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
}
