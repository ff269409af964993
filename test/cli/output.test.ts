import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { apiError, cliProgram, gatehouseFixture, machine, register, reply, standIn } from './sandbox.ts'

const { service } = gatehouseFixture()

const token = { AUTHCTL_TOKEN: 'a-token' }

test('--dry-run asks the service and prints the request', async () => {
  const { url, requests } = await standIn((_, response) => reply(response, 200, {}))
  const { authctl } = machine()
  const env = { ...token, AUTHCTL_BASE_URL: url }
  const json = await authctl('app create shop --name Shop --auto-grant --dry-run --json', { env })
  expect(json.exit).toBe(0)
  expect(JSON.parse(json.stdout)).toEqual({
    dry_run: true,
    request: {
      method: 'POST',
      url: `${url}/api/v1/admin/apps`,
      body: { code: 'shop', name: 'Shop', auto_grant_on_signup: true },
    },
  })
  const words = await authctl('app delete shop --dry-run -o table', { env })
  expect(words).toMatchObject({ stdout: `DELETE ${url}/api/v1/admin/apps/shop\n`, exit: 0 })
  expect(words.stderr).toContain(`nothing was changed at ${url} (--dry-run)`)
  await authctl('api PATCH /admin/apps/shop?x=1 --dry-run', { env })
  await authctl('logout --all --dry-run', { env })
  expect(requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'POST /api/v1/admin/apps?dry_run=true',
    'DELETE /api/v1/admin/apps/shop?dry_run=true',
    'PATCH /api/v1/admin/apps/shop?x=1&dry_run=true',
  ])
})

test('--dry-run fails like the command itself', async () => {
  const { url } = await standIn((_, response) => reply(response, 409, apiError(409, 'app_code_taken')))
  const env = { ...token, AUTHCTL_BASE_URL: url }
  const { stdout, exit } = await machine().authctl('app create shop --name Shop --dry-run --json', { env })
  expect({ stdout, exit }).toEqual({ stdout: '', exit: 5 })
})

test('--reason is sent with each write of the admin API and with no other request', async () => {
  const { url, requests } = await standIn((_, response) => reply(response, 200, {}))
  const { authctl } = machine()
  const env = { ...token, AUTHCTL_BASE_URL: url }
  const reason = ['--reason', 'Größe: “42”']
  for (const command of ['app delete shop --confirm shop', 'api GET /admin/apps', 'api POST /auth/logout-all'])
    await authctl([...command.split(' '), ...reason], { env })
  expect(requests.map(({ method, reason }) => [method, reason && decodeURIComponent(reason)])).toEqual([
    ['DELETE', 'Größe: “42”'],
    ['GET', undefined],
    ['POST', undefined],
  ])
  const long = await authctl(['app', 'delete', 'shop', '--confirm', 'shop', '--reason', 'x'.repeat(501)], { env })
  expect({ exit: long.exit, sent: requests.length }).toEqual({ exit: 2, sent: 3 })
})

test.each([
  ['app list --nope', 'unknown option'],
  ['app create a b --name X', 'too many arguments'],
  ['app frobnicate', 'unknown command'],
  ['frobnicate', 'unknown command'],
  ['app list -o yaml', 'must be one of table, json, ndjson'],
  ['app list --json -o table', 'contradict'],
  ['app list --timeout soon', 'is not a time'],
  ['app list --base-url ftp://x', 'not an http or https URL'],
  ['app list --status asleep', 'must be one of'],
  ['app list --limit', 'argument missing'],
  ['export -f --help', 'the value before it is missing'],
  ['app create shop --name --auto-grant', 'the value before it is missing'],
  ['app update shop --redirect https://x --link --json', 'argument missing'],
  ['help frob', "unknown command 'frob'"],
  ['help app frob', "unknown command 'app frob'"],
  ['frob --help', "unknown command 'frob'"],
  ['app frob --help', "unknown command 'frob'"],
  ['app list --context ../x', 'is not a valid context name'],
])('"authctl %s" exits with 2 and prints nothing on stdout', async (command, message) => {
  const { authctl } = machine()
  const plain = await authctl(command)
  expect(plain).toMatchObject({ stdout: '', exit: 2 })
  expect(plain.stderr).toContain(message)
})

test('a usage error with --json is one object on stderr', async () => {
  const { authctl } = machine()
  const { stdout, stderr, exit } = await authctl('app list --json --nope')
  expect({ stdout, exit }).toEqual({ stdout: '', exit: 2 })
  expect(JSON.parse(stderr)).toEqual({
    error: { code: 'usage', message: "unknown option '--nope'", hint: null, request_id: null, exit: 2 },
  })
  const missing = await authctl('--json app')
  expect({ stdout: missing.stdout, exit: missing.exit, error: JSON.parse(missing.stderr).error.code }).toEqual({
    stdout: '',
    exit: 2,
    error: 'usage',
  })
})

test('common flags may stand before or after the command', async () => {
  const here = machine()
  await here.login(service.url)
  for (const command of [
    '--json app list',
    'app --json list',
    'app list --json',
    'app list -o json',
    'app list --output=json',
    'app list -ojson',
  ]) {
    expect(JSON.parse((await here.authctl(command)).stdout)).toMatchObject([{ code: 'authctl' }])
  }
})

test('the result in a pipe is JSON for each command, unless -o says otherwise', async () => {
  const here = machine()
  await here.login(service.url)
  await here.authctl('app create piped --name Piped')
  for (const command of [
    'app list',
    'app show piped',
    'app update piped --name P',
    'app deactivate piped --yes',
    'grant list',
    'grant explain --app piped --user ada@example.com',
    'user find',
    'user show ada@example.com',
    'audit list',
    'context list',
    'context show',
    'whoami',
    'version',
    'app delete piped --dry-run',
    'api GET /admin/apps',
  ]) {
    const { stdout, exit } = await here.authctl(command)
    expect({ command, exit }).toEqual({ command, exit: 0 })
    expect(JSON.parse(stdout)).toEqual(expect.any(Object))
  }
  const { stdout, stderr } = await here.authctl('app list --q nothing-like-this')
  expect({ stdout, stderr }).toEqual({ stdout: '[]\n', stderr: '' })
})

test('a failure with output in a pipe is printed as text on stderr', async () => {
  const here = machine()
  await here.login(service.url)
  const { stdout, stderr, exit } = await here.authctl('app show nowhere')
  expect({ stdout, exit }).toEqual({ stdout: '', exit: 3 })
  expect(stderr).toMatch(/^authctl: /)
})

test('a table in a pipe has no colours, and an empty list prints nothing on stdout', async () => {
  const here = machine()
  await here.login(service.url)
  const { stdout } = await here.authctl('app list -o table --q authctl')
  const [head, row] = stdout.split('\n')
  expect(head).toMatch(/^CODE +NAME +STATUS +POOL +AUTO GRANT$/)
  expect(row).toMatch(/^authctl +authctl +active +default +no$/)
  const wide = (await here.authctl('app list -o wide --q authctl')).stdout.split('\n')
  expect(wide[0]).toMatch(/^CODE +NAME +STATUS +POOL +AUTO GRANT +SIGN UP +SERVICES +CREATED AT +ID$/)
  expect(wide[1]).toMatch(/^authctl +authctl +active +default +no +.*Z +[0-9a-f-]{36}$/)
  expect(await here.authctl('app list --q nothing-like-this -o table')).toEqual({ stdout: '', stderr: 'no apps\n', exit: 0 })
  expect(await here.authctl('app list --q nothing-like-this -o table --quiet')).toEqual({ stdout: '', stderr: '', exit: 0 })
  expect(await here.authctl('app list --q nothing-like-this --json')).toMatchObject({ stdout: '[]\n', exit: 0 })
})

test('a list with -o id prints ids for other commands, and with -o csv every column', async () => {
  const here = machine()
  await here.login(service.url)
  await here.authctl(['app', 'create', 'spreadsheet', '--name', '=1+1, "quoted"'])
  const [{ id, created_at }] = JSON.parse((await here.authctl('app list --q spreadsheet')).stdout)
  expect(await here.authctl('app list --q spreadsheet -o id')).toEqual({ stdout: `${id}\n`, stderr: '', exit: 0 })
  expect((await here.authctl(`app show ${id}`)).exit).toBe(0)
  expect((await here.authctl('role list -o id')).stdout).toContain('system_admin\n')
  await here.authctl('grant add --app spreadsheet --user ada@example.com')
  const [{ user_id }] = JSON.parse((await here.authctl('grant list --app spreadsheet')).stdout)
  expect((await here.authctl('grant list --app spreadsheet -o id')).stdout).toBe(`${user_id}\n`)
  expect((await here.authctl('grant list --user ada@example.com -o id')).stdout).toBe('spreadsheet\n')
  const { stdout } = await here.authctl('app list --q spreadsheet -o csv')
  const [head, row, rest] = stdout.split('\r\n')
  expect([head, rest]).toEqual(['code,name,status,pool,auto_grant,sign_up,services,created_at,id', ''])
  expect(row).toMatch(/^spreadsheet,"'=1\+1, .*,active,default,false,/)
  expect(row).toContain(`,${created_at},${id}`)
  expect((await here.authctl('app list --q nothing-like-this -o csv')).stdout).toBe(`${head}\r\n`)
})

test('--columns accepts each column, and exits with 2 for another before it asks the service', async () => {
  const { url, requests } = await standIn((_, response) => reply(response, 200, { items: [], next_cursor: null }))
  const { authctl } = machine()
  const env = { ...token, AUTHCTL_BASE_URL: url }
  const unknown = await authctl('app list -o csv --columns code,nmae', { env })
  expect(unknown).toMatchObject({ stdout: '', exit: 2 })
  expect(unknown.stderr).toContain('there is no column "nmae"\n  there are code, name, status, pool, auto_grant, ')
  expect((await authctl('app list --json --columns code', { env })).exit).toBe(2)
  expect((await authctl('app show shop --columns code', { env })).exit).toBe(2)
  expect((await authctl('app show shop -o wide', { env })).exit).toBe(2)
  expect(requests).toEqual([])
  expect((await authctl('app list -o csv --columns ID,code', { env })).stdout).toBe('id,code\r\n')
})

test('control characters in the name of a user are escaped', async () => {
  const here = machine()
  await here.login(service.url)
  await here.authctl('app create names --name N --auto-grant')
  const first_name = 'Eve\u001b]0;owned\u0007\u009b31m\u202e\n\u007f'
  await register(service.url, { email: 'eve@example.com', password: 'a fine password', app_code: 'names', first_name })
  for (const flags of ['-o table', '--json', '-o ndjson']) {
    const { stdout } = await here.authctl(`user find eve ${flags}`)
    expect(stdout).toContain('Eve\\u001b]0;owned\\u0007\\u009b31m\\u202e')
    expect(stdout.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u)
  }
  expect(JSON.parse((await here.authctl('user find eve --json')).stdout)[0].first_name).toBe(first_name)
})

test('control characters in an error of the service are escaped', async () => {
  const { url } = await standIn((_, response) =>
    reply(response, 404, { ...apiError(404, 'not_found'), detail: 'no \u001b[31mapp' }),
  )
  const { stderr, exit } = await machine().authctl('app show x', { env: { ...token, AUTHCTL_BASE_URL: url } })
  expect(exit).toBe(3)
  expect(stderr).toContain('no \\u001b[31mapp')
})

test('version and --version print the version', async () => {
  const { authctl } = machine()
  const { version } = JSON.parse((await authctl('version --json')).stdout)
  expect(version).toMatch(/^\d+\.\d+\.\d+/)
  expect(await authctl('--version')).toEqual({ stdout: `${version}\n`, stderr: '', exit: 0 })
})

test('every help page starts with three examples', async () => {
  const { authctl } = machine()
  const pages = [
    ...[
      '',
      'login',
      'logout',
      'whoami',
      'api',
      'version',
      'completion',
      'context',
      'app',
      'grant',
      'user',
      'audit',
      'token',
      'two-factor',
    ],
    ...['context list', 'context use', 'context show', 'context set', 'context delete'],
    ...['app create', 'app list', 'app show', 'app update', 'app activate', 'app deactivate', 'app delete', 'app env'],
    ...['grant add', 'grant revoke', 'grant list', 'grant explain', 'user find', 'user show'],
    ...['audit list', 'audit tail', 'token inspect', 'two-factor setup', 'two-factor disable'],
  ]
  await Promise.all(
    pages.map(async (page) => {
      const { stdout, exit } = await authctl(`${page} --help`)
      const [title, ...lines] = stdout.split('\n')
      expect({ page, title, exit, examples: lines.slice(0, 4).map((line) => line.startsWith('  $ authctl ')) }).toEqual({
        page,
        title: 'Examples:',
        exit: 0,
        examples: [true, true, true, false],
      })
    }),
  )
})

test('every example that creates an app names its redirect URLs, which production requires', async () => {
  const { authctl } = machine()
  const helps = await Promise.all(['', 'app', 'app create'].map(async (page) => (await authctl(`${page} --help`)).stdout))
  const recording = readFileSync(new URL('../../docs/pictures/first-minute.txt', import.meta.url), 'utf8')
  for (const text of [...helps, recording]) {
    const examples = text.split('\n').filter((line) => line.includes('$ authctl app create '))
    expect(examples).not.toEqual([])
    for (const example of examples) expect(example).toContain(' --redirect ')
  }
})

test('help lists commands before options, and help of a command prints its page', async () => {
  const { authctl } = machine()
  for (const page of ['', 'app']) {
    const { stdout } = await authctl(`${page} --help`)
    expect(stdout.indexOf('\nCommands:')).toBeGreaterThan(0)
    expect(stdout.indexOf('\nCommands:')).toBeLessThan(stdout.indexOf('\nOptions'))
  }
  expect((await authctl('--help')).stdout).toContain('Exit codes:')
  expect(await authctl('help app show')).toEqual(await authctl('app show --help'))
  expect(await authctl('help')).toEqual(await authctl('--help'))
})

test('each help page mentions the common options in one line, and help options lists them', async () => {
  const { authctl } = machine()
  for (const page of ['app', 'app show', 'user session list', 'completion']) {
    const { stdout } = await authctl(`${page} --help`)
    expect(stdout).toMatch(/\n\nOptions for every command: authctl help options\n$/)
    expect(stdout).not.toContain('--no-color')
  }
  const root = (await authctl('--help')).stdout
  expect(root).not.toContain('Options for every command')
  const shown = await authctl('help options')
  expect([shown.exit, shown.stderr]).toEqual([0, ''])
  expect(root).toContain(shown.stdout)
  for (const flag of ['--output <FORMAT>', '--context <NAME>', '--dry-run', '--no-color', '--timeout <SECONDS>'])
    expect(shown.stdout).toContain(flag)
  expect((await authctl('help options more')).exit).toBe(2)
})

test('api prints text with its lines on a terminal, and nothing in it moves the cursor', async () => {
  const { url } = await standIn((_, response) => {
    response.writeHead(200, { 'content-type': 'text/plain' }).end('one\u001b[2J\ntwo\u009b\u202e\n')
  })
  const env = { ...token, AUTHCTL_BASE_URL: url }
  const here = machine()
  const { sent, ended } = here.terminal('api GET /text', { env })
  expect((await ended()).screen).toContain('one\\u001b[2J\ntwo\\u009b\\u202e')
  expect(await sent()).not.toContain('\u001b[2J')
  expect((await here.authctl('api GET /text', { env })).stdout).toBe('one\u001b[2J\ntwo\u009b\u202e\n')
})

test('an error of the service names flags instead of query parameters', async () => {
  const detail = 'Revoke its grants first, or delete with ?force=true'
  const { url } = await standIn((_, response) => reply(response, 409, { ...apiError(409, 'app_in_use'), detail }))
  const { stderr, exit } = await machine().authctl('app delete shop --confirm shop', { env: { ...token, AUTHCTL_BASE_URL: url } })
  expect({ exit, stderr: stderr.split('\n')[0] }).toEqual({
    exit: 5,
    stderr: 'authctl: Revoke its grants first, or delete with --force (request request-1)',
  })
})

test.skipIf(!existsSync('/dev/full'))('a full disk prints one line and exits with 6', async () => {
  const here = machine()
  for (const command of ['version', '--version', 'completion bash', '--help']) {
    const child = spawn('sh', ['-c', `"${process.execPath}" "${cliProgram}" ${command} > /dev/full; echo "exit $?" >&2`], {
      env: { PATH: process.env.PATH, HOME: here.folder },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let stderr = ''
    child.stderr.on('data', (text) => {
      stderr += text
    })
    await once(child, 'close')
    expect(stderr).toMatch(/^authctl: cannot write the result: ENOSPC[^\n]*\nexit 6\n$/)
  }
})

test('a reader that stops early causes no failure', async () => {
  const here = machine()
  await here.login(service.url)
  const child = spawn('sh', ['-c', `"${process.execPath}" "${cliProgram}" app list -o ndjson; echo "exit $?" >&2`], {
    env: { PATH: process.env.PATH, HOME: here.folder, XDG_CONFIG_HOME: join(here.folder, 'config') },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  child.stdout.destroy()
  let stderr = ''
  child.stderr.on('data', (text) => {
    stderr += text
  })
  await once(child, 'close')
  expect(stderr).toBe('exit 0\n')
})
