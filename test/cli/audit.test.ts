import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { createKnex } from '../../packages/server/src/db/knex.ts'
import { AuditProofs } from '../../packages/server/src/lib/audit-proof.ts'
import { testEnvironment } from '../support/client.ts'
import { createDatabase } from '../support/database.ts'
import { addFormerChain } from '../support/former-audit.ts'
import { admin, gatehouseFixture, machine, register, reply, standIn, startGatehouse } from './sandbox.ts'

const { service, signedIn } = gatehouseFixture()

const eventsOf = ({ stdout }: { stdout: string }) => JSON.parse(stdout).map(({ event }: { event: string }) => event)

test('audit list filters by event, user, app and time', async () => {
  const { authctl } = await signedIn()
  await authctl('app create audited --name A --auto-grant')
  const { user } = await register(service.url, { email: 'eve@example.com', password: 'a fine password', app_code: 'audited' })
  expect(eventsOf(await authctl('audit list'))).toEqual(
    expect.arrayContaining(['app.created', 'user.registered', 'login.success']),
  )
  expect(new Set(eventsOf(await authctl('audit list --event app.created')))).toEqual(new Set(['app.created']))
  for (const who of ['eve@example.com', user.id]) {
    const ofUser = JSON.parse((await authctl(`audit list --user ${who}`)).stdout)
    expect(new Set(ofUser.map(({ user_id }: { user_id: string }) => user_id))).toEqual(new Set([user.id]))
  }
  expect(eventsOf(await authctl('audit list --app audited --event app.created'))).toEqual(['app.created'])
  expect(eventsOf(await authctl('audit list --email Eve@Example.com --ip 127.0.0.1'))).toContain('user.registered')
  expect(eventsOf(await authctl('audit list --email nobody@example.com'))).toEqual([])
  expect((await authctl('audit list --event login.fail')).stderr).toContain('the nearest is login.failed')
  const [created] = JSON.parse((await authctl('audit list --event app.created --limit 1')).stdout)
  expect(eventsOf(await authctl(`audit list --request-id ${created.request_id} --since 1h`))).toEqual(['app.created'])
  for (const several of ['app.created --event user.registered', 'app.created user.registered', 'app.* user.registered'])
    expect(new Set(eventsOf(await authctl(`audit list --event ${several} --since 1h`)))).toEqual(
      new Set(['app.created', 'user.registered']),
    )
  expect(await authctl(['audit', 'list', '--event', ''])).toMatchObject({ exit: 2 })
  expect((await authctl('audit list --request-id ?')).stderr).toContain('request_id')
  expect(eventsOf(await authctl('audit list --since 1h'))).not.toEqual([])
  expect(eventsOf(await authctl('audit list --since 2099-01-31'))).toEqual([])
  expect(eventsOf(await authctl('audit list --limit 2'))).toHaveLength(2)
  expect((await authctl('audit list --since yesterday')).exit).toBe(6)
  expect((await authctl('audit list --user nobody@example.com')).exit).toBe(3)
  expect((await authctl('audit list -o table')).stdout).toMatch(/^AT +EVENT +USER +ACTOR +APP +REASON +COUNT +IP +WHY\n/)
})

test('audit list escapes control characters that a caller sent', async () => {
  const { authctl } = await signedIn()
  await fetch(`${service.url}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'user-agent': 'evil\u009b31m' },
    body: JSON.stringify({ email: admin.email, password: 'wrong', app_code: 'authctl' }),
  })
  for (const format of ['json', 'ndjson', 'table']) {
    const { stdout } = await authctl(`audit list --event login.failed -o ${format}`)
    expect(stdout).toContain('login.failed')
    expect(stdout.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u)
  }
  expect((await authctl('audit list --event login.failed')).stdout).toContain('evil\\u009b31m')
})

test('audit tail prints past events and then new ones, each once as a JSON line, until Ctrl-C', async () => {
  const here = await signedIn()
  await here.authctl('app create before --name B')
  const tail = here.start('audit tail --event app.created')
  const next = async () => JSON.parse(await tail.line())
  let event = await next()
  while (event.details.after.code !== 'before') event = await next()
  for (const code of ['during', 'during-too']) {
    await here.authctl(`app create ${code} --name D`)
    expect(await next()).toMatchObject({ event: 'app.created', details: { after: { code } } })
  }
  tail.interrupt()
  expect(await tail.exit).toBe(130)
})

test('audit tail on a terminal is a table that grows', async () => {
  const here = await signedIn()
  const tail = here.terminal('audit tail --since 1h --event app.deleted')
  await here.authctl('app create fleeting --name F')
  await here.authctl('app delete fleeting --confirm fleeting')
  await tail.shows('EVENT')
  await tail.shows('app.deleted')
  tail.type('\u0003')
  expect((await tail.ended()).exit).toBe(130)
  expect((await here.authctl('audit tail --json')).exit).toBe(2)
})

test('audit tail asks only for new events, and shows an event that arrives late', async () => {
  const at = (seconds: number) => new Date(Date.UTC(2030, 0, 1) + seconds * 1000).toISOString()
  const event = (id: string, seconds: number) => ({ id, event: 'x', at: at(seconds), actor: { type: 'system', id: null } })
  const polls = [
    [event('c', 60), event('b', 50), event('a', 0)],
    [event('c', 60), event('late', 55), event('b', 50)],
    [event('d', 61), event('c', 60), event('late', 55), event('b', 50)],
  ]
  const { url, requests } = await standIn(({ turn }, response) =>
    reply(response, 200, { items: polls[turn - 1] ?? polls.at(-1), next_cursor: null }),
  )
  const here = machine()
  const terminal = here.terminal('audit tail -o ndjson', { env: { AUTHCTL_TOKEN: 't', AUTHCTL_BASE_URL: url } })
  for (const id of ['a', 'b', 'c', 'late', 'd']) await terminal.shows(`"id":"${id}"`)
  terminal.type('\u0003')
  const { screen, exit } = await terminal.ended()
  expect({ exit, ids: [...screen.matchAll(/"id":"(\w+)","event"/g)].map(([, id]) => id) }).toEqual({
    exit: 130,
    ids: ['a', 'b', 'c', 'late', 'd'],
  })
  expect(requests.map(({ path }) => new URL(path, url).searchParams.get('since'))).toEqual([null, at(30), at(30)])
})

test('audit verify accepts what the service wrote, and exits with 8 for a missing batch', async () => {
  const { authctl } = await signedIn()
  const whole = await authctl('audit verify')
  expect([whole.exit, JSON.parse(whole.stdout)]).toMatchObject([0, { whole: true, fault: null }])
  expect((await authctl('audit verify -o table')).stdout).toMatch(/^WHOLE +yes$/im)
  const cut = await authctl('audit verify --json --head 100000:none')
  expect(cut.exit).toBe(8)
  expect(JSON.parse(cut.stdout)).toMatchObject({ whole: false, fault: { kind: 'removed' } })
  expect(JSON.parse(cut.stderr).error).toMatchObject({ code: 'audit_not_whole', message: expect.stringContaining('is missing') })
  expect((await authctl('audit verify --head nonsense')).exit).toBe(6)
  expect((await authctl('audit verify --since-batch 1')).exit).toBe(2)
  expect((await authctl('audit verify --since-batch x --head 1:x')).exit).toBe(2)
  const gone = await authctl('audit verify --json --since-batch 100000 --head 100000:none')
  expect([gone.exit, JSON.parse(gone.stderr).error.message]).toEqual([8, 'the batch 100000 is missing'])
})

test('an interrupted audit verify prints the command that continues', async () => {
  const head = {
    position: 9_000,
    seal: '1f0c9b7e.Yw3c',
    batch: 90,
    sealed_at: new Date(0).toISOString(),
    began_at: new Date(0).toISOString(),
  }
  const { url, requests } = await standIn(({ turn }, response) => {
    const page = { checked: 100, adopted: 0, unsealed: 0, fault: null, head, former: null }
    if (turn < 4) reply(response, 200, { ...page, next_cursor: turn === 1 ? 'batches.0' : `batches.${turn}` })
  })
  const terminal = machine().terminal('audit verify', { env: { AUTHCTL_TOKEN: 't', AUTHCTL_BASE_URL: url }, columns: 200 })
  await expect.poll(() => requests.length, { timeout: 60_000 }).toBe(4)
  terminal.type('\u0003')
  const { screen, exit } = await terminal.ended()
  expect(exit).toBe(130)
  expect(screen).toContain('interrupted: the 300 events compared so far are what the service wrote')
  expect(screen).toContain('go on: authctl audit verify --since-batch 3 --head 9000:1f0c9b7e.Yw3c')
})

test('audit verify and doctor report the faults of the chain of an earlier version', async () => {
  const proofs = new AuditProofs([Buffer.from(testEnvironment.AUTH_ENCRYPTION_KEY, 'base64')])
  for (const isDamaged of [false, true]) {
    const database = await createDatabase('sqlite')
    onTestFinished(() => database.drop())
    const db = createKnex({ databaseUrl: database.url, dbPoolMax: 1 })
    const ids = await addFormerChain(db, proofs, 20)
    if (isDamaged) await db('audit_events').whereIn('id', [ids[4]!, ids[9]!]).update({ ip: '203.0.113.9' })
    await db.destroy()
    const gatehouse = await startGatehouse({ DATABASE_URL: database.url })
    onTestFinished(() => gatehouse.stop())
    const here = machine()
    await here.login(gatehouse.url)
    const { authctl } = here
    const former = async () => JSON.parse((await authctl('audit verify --json')).stdout).former
    await expect.poll(former, { timeout: 60_000 }).toMatchObject({ closed: true, position: 20, checked: 20 })
    const verified = await authctl('audit verify -o table')
    const { batch, head } = JSON.parse((await authctl('audit verify --json')).stdout)
    const since = await authctl(`audit verify --since-batch ${batch} --head ${head.position}:${head.seal} -o table`)
    expect(since.exit).toBe(0)
    const doctor = JSON.parse((await authctl('doctor --json')).stdout)
    const finding = doctor.findings.find(({ check }: { check: string }) => check === 'audit')
    if (isDamaged) {
      expect(await former()).toMatchObject({ faults: 2, first_fault: { kind: 'changed', position: 5, event_id: ids[4] } })
      expect(verified.exit).toBe(8)
      const told = `when the chain of an earlier version was compared at the upgrade, the event ${ids[4]} at position 5 is not what the service wrote, the first of 2`
      for (const { stdout } of [verified, since]) {
        expect(stdout).toMatch(/^FORMER +2 of 20 events not whole at the upgrade$/m)
        expect(stdout).toContain(told)
      }
      expect(finding).toMatchObject({ level: 'warn', message: told })
    } else {
      expect(verified.exit).toBe(0)
      expect(since.stdout).toMatch(/^FORMER +20 events, compared and closed$/m)
      expect(finding).toMatchObject({ level: 'ok', message: expect.stringContaining('20 events, compared and closed') })
    }
  }
})

test('an archive is written, and verified without the service', async () => {
  const { authctl, folder } = await signedIn()
  await expect
    .poll(async () => JSON.parse((await authctl('audit verify --json')).stdout).batch, { timeout: 60_000, interval: 1_000 })
    .toBeGreaterThan(0)
  const before = new Date().toISOString()
  const file = join(folder, 'audit.ndjson.gz')
  const written = await authctl(`audit archive --before ${before} --out ${file} --json`)
  expect(written.exit).toBe(0)
  const { key, events } = JSON.parse(written.stdout)
  expect(events).toBeGreaterThan(0)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const checked = await authctl(`audit verify -f ${file} --key ${key} --json`, {
    env: { AUTHCTL_BASE_URL: 'http://127.0.0.1:1' },
  })
  expect([checked.exit, JSON.parse(checked.stdout)]).toMatchObject([0, { events, whole: true, fault: null }])
  expect((await authctl(`audit archive --before ${before} --out ${file}`)).exit).toBe(6)
  expect((await authctl(`audit archive --before ${before} --out ${join(folder, 'none', 'file.gz')}`)).exit).toBe(6)
  const text = gunzipSync(readFileSync(file)).toString()
  writeFileSync(join(folder, 'forged.ndjson'), text.replace('"count":1', '"count":7'))
  const forged = await authctl(`audit verify -f ${join(folder, 'forged.ndjson')} --key ${key} --json`)
  expect([forged.exit, JSON.parse(forged.stderr).error.code]).toEqual([8, 'archive_not_whole'])
  expect((await authctl(`audit verify -f ${file}`)).exit).toBe(2)
  expect((await authctl(`audit verify --key ${key}`)).exit).toBe(2)
  expect((await authctl(`audit verify -f ${file} --key ${key} --head 1:x`)).exit).toBe(2)
  expect((await authctl(`audit verify -f ${join(folder, 'none.gz')} --key ${key}`)).exit).toBe(6)
  writeFileSync(join(folder, 'broken.gz'), readFileSync(file).subarray(0, 100))
  expect((await authctl(`audit verify -f ${join(folder, 'broken.gz')} --key ${key}`)).exit).toBe(6)
})
