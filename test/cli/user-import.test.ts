import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import {
  apiError,
  cliProgram,
  errorOf,
  gatehouseFixture,
  type Machine,
  machine,
  parsed,
  register,
  reply,
  standIn,
} from './sandbox.ts'

const { service, signedIn } = gatehouseFixture()

// The hash of "a fine password".
const hash = '$2b$04$vSeLMG7RUYP4afbIpK4jCOCjCGOSAn5mPWi/y.B56KwicpIsy9QYO'
const ndjson = (...rows: unknown[]) => rows.map((row) => `${typeof row === 'string' ? row : JSON.stringify(row)}\n`).join('')
const write = ({ folder }: Machine, name: string, content: string | Uint8Array) => writeFileSync(join(folder, name), content)
const linesOf = ({ stdout }: { stdout: string }) =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
const read = ({ folder }: Machine, name: string) => readFileSync(join(folder, name), 'utf8')
const many = (domain: string, count: number) =>
  Array.from({ length: count }, (_, index) => ({ email: `${index}@${domain}`, password_hash: hash }))
const none = { imported: 0, updated: 0, unchanged: 0, failed: 0 }
const withToken = (url: string) => ({ env: { AUTHCTL_TOKEN: 'a-token', AUTHCTL_BASE_URL: url } })

describe('user import', () => {
  test('user import sends users in portions with all their fields, and a repeat is unchanged', async () => {
    const here = await signedIn()
    const { authctl } = here
    await authctl('app create imported --name I')
    const whole = { email: 'whole@full.example', password_hash: hash, first_name: 'Wöhle', last_name: '😀', namespace: 'default' }
    const row = { ...whole, tags: ['alumni'], apps: ['imported'], roles: ['super_admin'], email_verified: true }
    write(here, 'users.ndjson', ndjson(...many('full.example', 4_500), row))
    const first = await authctl('user import -f users.ndjson')
    expect(first.exit).toBe(0)
    expect(parsed(first)).toEqual({
      ...none,
      lines: 4_501,
      imported: 4_501,
      sent_again: 0,
      stopped_at_line: null,
      failures_file: null,
      errors: [],
    })
    expect(first.stderr).toMatch(/^4,501 lines in \d+ s, [\d,]+\/s\n$/)
    expect(parsed(await authctl('user show whole@full.example --json'))).toMatchObject({
      first_name: 'Wöhle',
      last_name: '😀',
      namespaces: ['default', 'alumni'],
      apps: [{ app_code: 'imported' }],
      roles: ['base_user', 'super_admin'],
      email_verified: true,
    })
    const theirs = await fetch(`${service.url}/api/v1/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'whole@full.example', password: 'a fine password', app_code: 'imported' }),
    })
    expect(theirs.status).toBe(200)
    write(here, 'more.ndjson', ndjson({ email: '7@full.example', tags: ['alumni'] }))
    expect(parsed(await authctl('user import -f more.ndjson'))).toMatchObject({ ...none, lines: 1, updated: 1 })
    const again = await authctl('user import -f users.ndjson -o table')
    expect(again.exit).toBe(0)
    expect(again.stdout).toBe('LINES      4501\nIMPORTED   0\nUPDATED    0\nUNCHANGED  4501\nFAILED     0\n')
  })

  test('user import refuses an unproven account unless --claim-unverified is given', async () => {
    const here = await signedIn()
    const { authctl } = here
    await authctl('app create squatted --name S --auto-grant')
    const email = 'squatted@claim.example'
    await register(service.url, { email, password: 'of the stranger', app_code: 'squatted' })
    write(here, 'users.ndjson', ndjson({ email, password_hash: hash, roles: ['super_admin'] }))
    const refused = await authctl('user import -f users.ndjson --json')
    expect([refused.exit, parsed(refused).errors]).toMatchObject([8, [{ line: 1, code: 'account_unverified' }]])
    expect(errorOf(refused).hint).toContain('--claim-unverified')
    expect(parsed(await authctl('user import -f users.ndjson --claim-unverified --dry-run --json'))).toMatchObject({ updated: 1 })
    expect(parsed(await authctl(`user show ${email} --json`))).toMatchObject({ made_by: 'self', roles: ['base_user'] })
    const claimed = await authctl('user import -f users.ndjson --claim-unverified')
    expect([claimed.exit, parsed(claimed).updated]).toEqual([0, 1])
    expect(parsed(await authctl(`user show ${email} --json`))).toMatchObject({
      made_by: 'import',
      roles: ['base_user', 'super_admin'],
    })
  })

  test('user import --dry-run is checked by the service, writes nothing, and counts the same', async () => {
    const here = await signedIn()
    write(here, 'users.ndjson', ndjson({ email: 'dry@dry.example' }, { email: 'nobody' }))
    const dry = await here.authctl('user import -f users.ndjson --dry-run --json')
    expect(dry.exit).toBe(8)
    expect(parsed(dry)).toMatchObject({ dry_run: true, lines: 2, imported: 1, failed: 1, errors: [{ line: 2 }] })
    expect((await here.authctl('user show dry@dry.example')).exit).toBe(3)
    write(here, 'good.ndjson', ndjson({ email: 'dry@dry.example' }))
    expect((await here.authctl('user import -f good.ndjson --dry-run')).exit).toBe(0)
  })

  test('user import keeps failed rows in a private file that can be corrected and imported', async () => {
    const here = await signedIn()
    const { authctl } = here
    const bad = [
      `{"email": "no-apps@bad.example",  "apps": ["nowhere"], "password_hash": "${hash}"}`,
      '{"email": "cut@bad.example"',
      '{"email":"late@bad.example","nope":1}',
    ]
    const good = many('bad.example', 2_100)
    write(here, 'users.ndjson', `\ufeff${ndjson(bad[0], '', ...good, '  ', bad[1])}${bad[2]}`)
    write(here, 'failed.ndjson', 'from another time')
    const failed = await authctl('user import -f users.ndjson --failures failed.ndjson --json')
    expect(failed.exit).toBe(8)
    expect(errorOf(failed)).toMatchObject({ code: 'some_failed', message: '3 of 2,103 lines failed', exit: 8 })
    expect(parsed(failed)).toMatchObject({
      lines: 2_103,
      imported: 2_100,
      failed: 3,
      failures_file: 'failed.ndjson',
      errors: [
        { line: 1, failures_line: 1, code: 'validation_failed', message: expect.stringContaining('apps.0') },
        { line: 2_104, failures_line: 2, code: 'invalid_json' },
        { line: 2_105, failures_line: 3, code: 'validation_failed' },
      ],
    })
    expect(read(here, 'failed.ndjson')).toBe(ndjson(...bad))
    expect(statSync(join(here.folder, 'failed.ndjson')).mode & 0o777).toBe(0o600)
    expect(failed.stdout + failed.stderr).not.toContain('$2b$')
    const table = await authctl('user import -f failed.ndjson -o table')
    expect(table.exit).toBe(8)
    expect(table.stdout).toMatch(/^LINE +CODE +MESSAGE\n1 +validation_failed +apps\.0.*\n2 +invalid_json .*\n/)

    const mended = read(here, 'failed.ndjson').replace('nowhere', 'authctl').replace('example"\n', 'example"}\n')
    write(here, 'failed.ndjson', mended.replace(',"nope":1', ''))
    const over = await authctl('user import -f failed.ndjson --failures left.ndjson')
    expect({ exit: over.exit, ...parsed(over) }).toMatchObject({ exit: 0, imported: 3 })
    expect(read(here, 'left.ndjson')).toBe('')
  })

  test('user import accepts standard input, CRLF, blank lines, an unfinished last line and empty input', async () => {
    const { authctl } = await signedIn()
    const input = `\r\n${JSON.stringify({ email: 'a@ends.example' })}\r\n\u00a0\r\n${JSON.stringify({ email: 'b@ends.example' })}`
    expect(parsed(await authctl('user import -f -', { input }))).toMatchObject({ lines: 2, imported: 2 })
    const empty = await authctl('user import -f - -o table', { input: '\n \n' })
    expect(empty.exit).toBe(0)
    expect(empty.stderr).toBe('standard input contains no lines\n')
  })

  test('a line that is too long or not UTF-8 fails alone', async () => {
    const here = await signedIn()
    const long = JSON.stringify({ email: 'long@wide.example', first_name: 'x'.repeat(70_000) })
    const broken = Buffer.concat([
      Buffer.from('{"email":"u@wide.example","first_name":"'),
      Buffer.from([0xff]),
      Buffer.from('"}\n'),
    ])
    const rest = ndjson(long, { email: 'fits@wide.example' })
    write(here, 'users.ndjson', Buffer.concat([broken, Buffer.from(rest)]))
    const failed = await here.authctl('user import -f users.ndjson --failures failed.ndjson --json')
    expect(failed.exit).toBe(8)
    expect(parsed(failed)).toMatchObject({
      imported: 1,
      failed: 2,
      errors: [
        { line: 1, failures_line: 1, code: 'invalid_json' },
        { line: 2, failures_line: null, code: 'payload_too_large', message: expect.stringContaining('64 KiB') },
      ],
    })
    expect(readFileSync(join(here.folder, 'failed.ndjson')).equals(broken)).toBe(true)
    write(here, 'long.ndjson', long)
    expect(parsed(await here.authctl('user import -f long.ndjson'))).toMatchObject({ lines: 1, failed: 1 })
  })

  test.each([
    ['a JSON array', '[{"email":"a@b.example"}]', /JSON array.*\n.*jq/],
    ['UTF-16', Buffer.from('\ufeff{"email":"a@b.example"}', 'utf16le'), /UTF-16.*\n.*iconv/],
  ])('user import refuses %s at once with exit 6', async (_, content, message) => {
    const here = await signedIn()
    write(here, 'users', content)
    const refused = await here.authctl('user import -f users')
    expect({ exit: refused.exit, stdout: refused.stdout }).toEqual({ exit: 6, stdout: '' })
    expect(refused.stderr).toMatch(message)
  })

  test('user import exits with 6 for an unreadable file, and with 2 if --failures must not be overwritten', async () => {
    const here = await signedIn()
    const { authctl } = here
    write(here, 'users.ndjson', ndjson({ email: 'kept@b.example' }))
    for (const file of ['nowhere.ndjson', '.']) expect((await authctl(['user', 'import', '-f', file])).exit).toBe(6)
    expect((await authctl('user import')).exit).toBe(2)
    symlinkSync(join(here.folder, 'users.ndjson'), join(here.folder, 'link'))
    for (const file of ['users.ndjson', './users.ndjson', 'link', '/dev/null', '.'])
      expect({ file, exit: (await authctl(['user', 'import', '-f', 'users.ndjson', '--failures', file])).exit }).toEqual({
        file,
        exit: 2,
      })
    expect((await authctl('user import -f users.ndjson --failures no/such/folder')).exit).toBe(6)
    expect(read(here, 'users.ndjson')).toBe(ndjson({ email: 'kept@b.example' }))
    expect(existsSync('/dev/null')).toBe(true)
    expect((await authctl('user show kept@b.example')).exit).toBe(3)
  })

  test('user import shows progress on a terminal, and not in a pipe or with --quiet', async () => {
    const here = await signedIn()
    write(here, 'users.ndjson', ndjson(...many('bar.example', 2_500)))
    const shown = here.terminal('user import -f users.ndjson')
    await shown.shows('[------------------------]   0 %')
    await shown.shows(' %  2,000 lines, ')
    await shown.shows(' left')
    await shown.shows('[########################] 100 %  2,500 lines')
    const { screen, exit } = await shown.ended()
    expect(exit).toBe(0)
    expect(screen).toContain('IMPORTED   2500')
    expect((await here.terminal('user import -f users.ndjson --quiet').ended()).screen).not.toContain('%')
    expect((await here.authctl('user import -f users.ndjson')).stderr).not.toContain('%')
  })
})

interface Sent {
  lines: number
  emails: string[]
}

/** What the service would answer if all lines were new. */
const answerTo = (body: string): { sent: Sent; answer: typeof none & { errors: object[] } } => {
  const emails = [...body.matchAll(/"email":"([^"]+)"/g)].map(([, email]) => email!)
  return { sent: { lines: emails.length, emails }, answer: { ...none, imported: emails.length, errors: [] } }
}

/** A URL that nothing listens on. */
async function deafUrl(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return `http://127.0.0.1:${port}`
}

describe('failures during an import', () => {
  test('a portion whose answer was lost is sent again and reported', async () => {
    const here = machine()
    write(here, 'users.ndjson', ndjson(...many('lost.example', 2_010)))
    const sent: number[] = []
    const { url } = await standIn(({ body, turn }, response) => {
      const { sent: portion, answer } = answerTo(body)
      sent.push(portion.lines)
      if (turn === 1) response.destroy()
      else if (turn === 2) reply(response, 502, '<html>bad gateway</html>', { 'content-type': 'text/html' })
      else reply(response, 200, turn === 3 ? { ...answer, imported: 0, unchanged: answer.imported } : answer)
    })
    const { exit, stdout, stderr } = await here.authctl('user import -f users.ndjson', withToken(url))
    expect({ exit, sent }).toEqual({ exit: 0, sent: [2_000, 2_000, 2_000, 10] })
    expect(JSON.parse(stdout)).toMatchObject({ lines: 2_010, imported: 10, unchanged: 2_000, sent_again: 2_000 })
    expect(stderr).toContain('lines 1 to 2000 are sent again')
  })

  test('user import waits after 429 and 503, and finally exits with 7 and the line where it stopped', async () => {
    const here = machine()
    write(here, 'users.ndjson', ndjson(...many('busy.example', 4_100)))
    const { url, requests } = await standIn(({ body, turn }, response) => {
      if (turn === 2 || turn > 3) reply(response, turn % 2 ? 429 : 503, apiError(503, 'unavailable'), { 'retry-after': '0' })
      else reply(response, 200, answerTo(body).answer)
    })
    const stopped = await here.authctl('user import -f users.ndjson --json', withToken(url))
    expect({ exit: stopped.exit, requests: requests.length }).toEqual({ exit: 7, requests: 7 })
    expect(parsed(stopped)).toMatchObject({ lines: 4_000, imported: 4_000, stopped_at_line: 4_001 })
    expect(errorOf(stopped)).toMatchObject({ code: 'unavailable', exit: 7 })
  })

  test('user import exits with 4 if the session ends, and with 7 at once if nobody listens', async () => {
    const here = machine()
    write(here, 'users.ndjson', ndjson(...many('ended.example', 2_001)))
    const { url, requests } = await standIn(({ body, turn }, response) =>
      turn === 1 ? reply(response, 200, answerTo(body).answer) : reply(response, 401, apiError(401, 'token_revoked')),
    )
    const stopped = await here.authctl('user import -f users.ndjson --json', withToken(url))
    expect({ exit: stopped.exit, requests: requests.length, ...parsed(stopped) }).toMatchObject({
      exit: 4,
      requests: 2,
      lines: 2_000,
      stopped_at_line: 2_001,
    })
    expect(await here.authctl('user import -f users.ndjson', withToken(await deafUrl()))).toMatchObject({
      exit: 7,
      stdout: '',
    })
  })

  test.each([
    ['too few are counted', { ...none, imported: 2, errors: [] }],
    ['a failed line is not named', { ...none, imported: 2, failed: 1, errors: [] }],
    [
      'a failed line is named that was not sent',
      { ...none, imported: 2, failed: 1, errors: [{ line: 4, code: 'x', message: '' }] },
    ],
  ])('user import exits with 8 if the counts do not add up: %s', async (_, answer) => {
    const here = machine()
    write(here, 'users.ndjson', ndjson(...many('odd.example', 3)))
    const { url } = await standIn((_, response) => reply(response, 200, answer))
    const odd = await here.authctl('user import -f users.ndjson --json', withToken(url))
    expect(odd.exit).toBe(8)
    expect(errorOf(odd)).toMatchObject({ code: 'counts_differ', message: expect.stringContaining('of the 3 lines 1 to 3') })
  })

  test('--debug shows no password hash', async () => {
    const here = machine()
    write(here, 'users.ndjson', ndjson(...many('debug.example', 2)))
    const { url } = await standIn(({ body }, response) => reply(response, 200, answerTo(body).answer))
    const { stderr, exit } = await here.authctl('user import -f users.ndjson --debug', withToken(url))
    expect(exit).toBe(0)
    expect(stderr).toContain('bytes]')
    expect(stderr).not.toMatch(/\$2b\$|debug\.example/)
  })

  test('Ctrl-C during an import exits with 130, says how far it came, and keeps the failures', async () => {
    const here = machine()
    write(here, 'users.ndjson', ndjson('{', ...many('late.example', 2_500)))
    let isWaiting = () => {}
    const waiting = new Promise<void>((resolve) => {
      isWaiting = resolve
    })
    const { url } = await standIn(({ body, turn }, response) => {
      if (turn > 1) return isWaiting()
      const { answer } = answerTo(body)
      reply(response, 200, { ...answer, failed: 1, errors: [{ line: 1, code: 'invalid_json', message: 'no' }] })
    })
    const { env } = withToken(url)
    const stopped = here.terminal('user import -f users.ndjson --failures failed.ndjson', { env })
    await waiting
    stopped.type('\u0003')
    const { screen, exit } = await stopped.ended()
    expect(exit).toBe(130)
    expect(screen).toContain('authctl: interrupted: 2,000 lines are done; lines 2001 to 2501 were in progress')
    expect(screen).toContain('run the same command again')
    expect(read(here, 'failed.ndjson')).toBe('{\n')
  })
})

describe('user export', () => {
  test('user export prints what user import reads, and importing it changes nothing', async () => {
    const { authctl } = await signedIn()
    for (const code of ['one', 'two']) await authctl(`app create ${code} --name N`)
    await authctl('role create helper --name H')
    const rows = many('out.example', 450).map(({ email }, index) => ({
      email,
      first_name: index % 2 ? `Zoë ${index}` : null,
      last_name: null,
      namespace: index % 3 ? 'out' : 'staff',
      tags: [...(index % 5 ? [] : ['alumni']), ...(index % 3 ? [] : ['out'])],
      apps: index % 7 ? [] : index % 2 ? ['one'] : ['one', 'two'],
      roles: index % 100 ? [] : ['helper'],
      email_verified: index % 2 === 0,
    }))
    const imported = await authctl('user import -f -', { input: ndjson(...rows) })
    expect(parsed(imported)).toMatchObject({ imported: 450 })
    await authctl('user suspend 1@out.example --yes')
    await authctl('user delete 2@out.example --confirm 2@out.example')
    await authctl('grant revoke --app one --user 7@out.example --yes')
    const expected = rows.filter(({ email }) => email !== '2@out.example').reverse()
    Object.assign(expected.find(({ email }) => email === '1@out.example')!, { status: 'suspended' })
    Object.assign(expected.find(({ email }) => email === '7@out.example')!, { apps: [] })
    const exported = await authctl('user export --pool out -o ndjson')
    expect({ exit: exported.exit, stderr: exported.stderr }).toEqual({ exit: 0, stderr: '' })
    expect(linesOf(exported)).toEqual(expected)

    const again = await authctl('user import -f - --json', { input: exported.stdout })
    expect(again.exit).toBe(8)
    expect(parsed(again)).toMatchObject({
      ...none,
      lines: 449,
      unchanged: 448,
      failed: 1,
      errors: [{ code: 'validation_failed', message: expect.stringContaining('status') }],
    })
    expect(linesOf(await authctl('user export')).at(-1)).toMatchObject({ email: 'ada@example.com', roles: ['system_admin'] })
  })

  test('user export ends quietly if its reader stops, and refuses another format or an invalid pool', async () => {
    const here = await signedIn()
    const child = spawn('sh', ['-c', `"${process.execPath}" "${cliProgram}" user export; echo "exit $?" >&2`], {
      env: { PATH: process.env.PATH, HOME: here.folder, XDG_CONFIG_HOME: join(here.folder, 'config') },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    child.stdout.once('data', () => child.stdout.destroy())
    expect(await text(child.stderr)).toBe('exit 0\n')
    expect((await here.authctl('user export --pool "no pool"')).exit).toBe(6)
    expect((await here.authctl('user export -o table')).exit).toBe(2)
  })

  test('user export --user prints the document that the user can download', async () => {
    const here = await signedIn()
    const { exit, stdout } = await here.authctl('user export --user ada@example.com')
    expect(exit).toBe(0)
    const document = JSON.parse(stdout)
    expect(document).toMatchObject({ format: 'gatehouse-user-export', version: 1 })
    expect(document.tables.users).toMatchObject([{ email: 'ada@example.com' }])
    expect((await here.authctl('user export --user ada@example.com --pool out')).exit).toBe(2)
    expect((await here.authctl('user export --user nobody@example.com')).exit).toBe(3)
  })
})

describe('a CSV file', () => {
  const csv = (...rows: string[]) => rows.map((row) => `${row}\r\n`).join('')

  test('a CSV file is read by its header, with lists, quotes and a byte order mark, and its columns are reported', async () => {
    const here = await signedIn()
    const { authctl } = here
    await authctl('app create listed --name L')
    const rows = csv(
      '\ufeffE-Mail,First Name,last_name,tags,apps,pool,email_verified,password_hash',
      `one@csv.example,"Ann ""A.""","O'Neil, B.",alumni; guests,listed,staff,yes,${hash}`,
      '',
      'two@csv.example,"Two\r\nlines",,,,,no,',
    )
    write(here, 'users.csv', rows)
    const ended = await authctl('user import -f users.csv --json')
    expect(parsed(ended)).toMatchObject({ lines: 2, imported: 2, failed: 0 })
    expect(ended.stderr).toContain(
      'columns: E-Mail as email, First Name as first_name, last_name, tags (a list, split by ;), apps (a list, split by ;), ' +
        'pool as namespace, email_verified (yes or no), password_hash',
    )
    expect(parsed(await authctl('user show one@csv.example --json'))).toMatchObject({
      first_name: 'Ann "A."',
      last_name: "O'Neil, B.",
      namespaces: ['staff', 'alumni', 'guests'],
      apps: [{ app_code: 'listed' }],
      email_verified: true,
    })
    expect(parsed(await authctl('user show two@csv.example --json'))).toMatchObject({
      first_name: 'Two\nlines',
      email_verified: false,
    })
    const again = await authctl('user import -f - --format csv --json', { input: rows })
    expect(parsed(again)).toMatchObject({ lines: 2, unchanged: 2 })
  })

  test('a CSV file with an unknown, repeated or missing column is refused before anything is sent', async () => {
    const here = await signedIn()
    for (const [header, message] of [
      ['email,phone,fax', /unknown columns: "phone", "fax"/],
      ['email;first_name', /an unknown column/],
      ['email,E-Mail', /two columns for email/],
      ['first_name,last_name', /no column email/],
      ['email,"first', /quotes/],
    ] as const) {
      write(here, 'bad.csv', csv(header, 'x@header.example,1'))
      const refused = await here.authctl('user import -f bad.csv --json')
      expect([header, refused.exit, errorOf(refused)]).toEqual([
        header,
        6,
        expect.objectContaining({ code: 'invalid_columns', message: expect.stringMatching(message) }),
      ])
    }
    write(here, 'users.txt', csv('email,first_name', 'x@header.example,X'))
    const taken = await here.authctl('user import -f users.txt')
    expect([taken.exit, taken.stderr]).toEqual([6, expect.stringContaining('--format csv')])
    expect((await here.authctl('user find header.example --json')).stdout.trim()).toBe('[]')
  })

  test('rows of a CSV file that fail are kept unchanged under the header, with their line in the file', async () => {
    const here = await signedIn()
    const good = 'email,first_name,email_verified\nok@fail.example,Ok,1\n'
    const bad = ['no-address,"Two\nlines",', 'few@fail.example', 'flag@fail.example,F,perhaps', '"open@fail.example,F,yes']
    write(here, 'users.csv', good + bad.join('\n'))
    const ended = await here.authctl('user import -f users.csv --failures failed.csv --json')
    expect(ended.exit).toBe(8)
    expect(parsed(ended)).toMatchObject({ lines: 5, imported: 1, failed: 4 })
    expect(parsed(ended).errors).toMatchObject([
      { line: 3, failures_line: 2 },
      { line: 5, failures_line: 4, code: 'invalid_csv', message: expect.stringContaining('1 cell, the header 3') },
      { line: 6, failures_line: 5, code: 'invalid_csv', message: expect.stringContaining('neither yes nor no') },
      { line: 7, failures_line: 6, code: 'invalid_csv', message: expect.stringContaining('quotes') },
    ])
    expect(read(here, 'failed.csv')).toBe(`email,first_name,email_verified\n${bad.join('\n')}\n`)
  })
})

test('user import unpacks gzip, and refuses a truncated file', async () => {
  const here = await signedIn()
  const rows = ndjson(...many('gzip.example', 2_500))
  write(here, 'users.ndjson.gz', gzipSync(rows))
  expect(parsed(await here.authctl('user import -f users.ndjson.gz --json'))).toMatchObject({ lines: 2_500, imported: 2_500 })
  write(here, 'users.csv.gz', gzipSync('email,roles\n0@gzip.example,super_admin\n'))
  expect(parsed(await here.authctl('user import -f users.csv.gz --json'))).toMatchObject({ lines: 1, updated: 1 })
  write(here, 'cut.ndjson.gz', gzipSync(rows).subarray(0, 40))
  const cut = await here.authctl('user import -f cut.ndjson.gz --json')
  expect([cut.exit, errorOf(cut).code]).toEqual([6, 'file_unreadable'])
})
