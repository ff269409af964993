import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseEnv } from 'node:util'
import { createAuth, definePermissions } from '@gatehouse/sdk'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { frameworks, snippetFor } from '../../packages/cli/src/onboarding/backend-files.ts'
import { ACCESS_SECRET } from '../support/client.ts'
import { isFastLane } from '../support/lane.ts'
import { admin, errorOf, gatehouseFixture, nobody, parsed } from './sandbox.ts'

const { service, signedInOnce: signedIn } = gatehouseFixture()

test('app onboard on a terminal asks for everything, does it, and shows the equivalent commands', async () => {
  const { terminal, authctl, folder } = await signedIn()
  const wizard = terminal('app onboard')
  for (const [question, answer] of [
    ['Code of the app', 'asked'],
    ['Display name', "It's asked"],
    ['Allowed redirect URLs', 'https://asked.example.com/callback https://asked.example.com/*'],
    ['Give access to every user who registers? (yes/no)', 'yes'],
    // Down and up again.
    ['Which permissions do its tokens carry', '\x1b[B\x1b[A'],
    // A typo is asked again, and costs none of the answers.
    ['First user to get access', `x${admin.email}`],
    [[`no user matches x${admin.email}`, 'First user to get access'], 'nonsense'],
    [['"nonsense" does not name a user', 'First user to get access'], admin.email],
    ['File for the settings of its backend', '.env'],
    ['File for a first list of its permissions', 'permissions.yaml'],
    ['Which framework does its backend use', 'koa'],
  ] as const) {
    for (const text of [question].flat()) await wizard.shows(text)
    wizard.type(`${answer}\r`)
  }
  const { screen, exit } = await wizard.ended()

  expect(exit).toBe(0)
  const urls = "https://asked.example.com/callback 'https://asked.example.com/*'"
  expect(screen).toContain(
    `$ authctl app create asked --name 'It'\\''s asked' --redirect ${urls} --auto-grant --permission-scope roles\n`,
  )
  expect(screen).toContain(`$ authctl grant add --app asked --user ${admin.email}\n`)
  expect(screen).toContain('$ authctl app env asked > .env\n')
  expect(screen).toContain('authctl permission register -f permissions.yaml\n')
  expect(screen).toContain("import { requireAuth } from '@gatehouse/sdk/koa'\n")

  const app = parsed(await authctl('app show asked --json'))
  expect(app).toMatchObject({
    name: "It's asked",
    auto_grant_on_signup: true,
    permission_scope: 'roles',
    allowed_redirect_urls: ['https://asked.example.com/callback', 'https://asked.example.com/*'],
  })
  const env = join(folder, '.env')
  expect(statSync(env).mode & 0o777).toBe(0o600)
  expect(readFileSync(env, 'utf8')).toBe((await authctl('app env asked')).stdout)
  expect(parseEnv(readFileSync(env, 'utf8'))).toMatchObject({ SERVICE_APP_CODE: 'asked', SERVICE_APP_ID: app.id })
  expect(parsed(await authctl('grant list --app asked --json'))).toMatchObject([{ status: 'active' }])
  expect(parsed(await authctl('permission register -f permissions.yaml --json'))).toMatchObject({
    service: 'asked',
    permissions: [{ code: 'asked:read', name: "Read in It's asked" }],
  })
})

test('app onboard repeats a refused question, and writes nothing before every answer is accepted', async () => {
  const { terminal, authctl, folder } = await signedIn()
  const wizard = terminal('app onboard --email-domain corp_test')
  const answer = async (question: string, typed: string) => {
    await wizard.shows(question)
    wizard.type(`${typed}\r`)
  }
  await answer('Code of the app', 'two words')
  await wizard.shows('"two words" is not a valid code of an app')
  await answer('Code of the app', 'Upper')
  await answer('Display name', 'Refused')
  await answer('Allowed redirect URLs', 'https://refused.example.com/* nonsense')
  await answer('Give access to every user who registers? (yes/no)', 'no')
  await answer('Which permissions do its tokens carry', 'roles')
  await answer('First user to get access', nobody)
  await wizard.shows('No user has this id')
  await answer('First user to get access', admin.email)
  await answer('File for the settings of its backend', 'no/such/folder/.env')
  await wizard.shows('cannot write no/such/folder/.env')
  await answer('File for the settings of its backend', '.env')
  await answer('File for a first list of its permissions', 'none')
  // Another admin takes the code that will be typed next.
  expect((await authctl('app create taken --name Theirs')).exit).toBe(0)
  await answer('Which framework does its backend use', 'koa')

  await wizard.shows('--redirect: ')
  await answer('Code of the app', 'taken')
  await answer('Allowed redirect URLs', 'https://refused.example.com/*')
  await answer('Domains whose addresses may register', 'corp.test')
  await wizard.shows('Another app has the code taken')
  expect(existsSync(join(folder, '.env'))).toBe(false)
  expect(parsed(await authctl('app list --json')).map(({ name }: { name: string }) => name)).not.toContain('Refused')
  await answer('Code of the app', 'accepted')
  const { screen, exit } = await wizard.ended()
  expect(exit).toBe(0)
  for (const question of ['Display name', 'Give access to every', 'Which framework', 'File for a first list'])
    expect(screen.match(new RegExp(`^\\? ${question}`, 'gm')), question).toHaveLength(1)
  expect(screen).toContain('$ authctl app create accepted --name Refused --redirect')
  expect(parsed(await authctl('app show accepted --json'))).toMatchObject({
    name: 'Refused',
    allowed_redirect_urls: ['https://refused.example.com/*'],
    allowed_email_domains: ['corp.test'],
    permission_scope: 'roles',
  })
  expect(parsed(await authctl('grant list --app accepted --json'))).toMatchObject([{ status: 'active' }])
  expect(readFileSync(join(folder, '.env'), 'utf8')).toContain('SERVICE_APP_CODE=accepted\n')
  expect(parsed(await authctl('app show taken --json')).name).toBe('Theirs')
})

test('app onboard skips a step that is answered none, and does not ask for given options', async () => {
  const { terminal, authctl, folder } = await signedIn()
  const wizard = terminal(
    ['app', 'onboard', 'bare', '--name', 'Bare', '--no-auto-grant', '--user', '', '--permission-file', ''].concat(
      '--permission-scope',
      'services',
    ),
  )
  for (const question of [
    'Allowed redirect URLs',
    'File for the settings of its backend',
    'Which framework does its backend use',
  ]) {
    await wizard.shows(question)
    wizard.type('none\r')
  }
  const { exit, screen } = await wizard.ended()
  expect(exit).toBe(0)
  for (const question of ['Code of the app', 'Display name', 'Give access', 'First user', 'permissions'])
    expect(screen).not.toContain(question)
  expect(parsed(await authctl('app show bare --json'))).toMatchObject({ allowed_redirect_urls: [], auto_grant_on_signup: false })
  expect(existsSync(join(folder, '.env'))).toBe(false)
})

test('app onboard without a terminal exits with 2, names everything that is missing, and does nothing', async () => {
  const { authctl, terminal } = await signedIn()
  const without = await authctl('app onboard --json')
  expect(without.exit).toBe(2)
  expect(errorOf(without).message).toBe('CODE and --name are required')
  expect(errorOf(await authctl('app onboard nameless --json')).message).toBe('--name is required')
  expect((await terminal('app onboard nameless --no-input').ended()).exit).toBe(2)
  expect((await authctl('app show nameless')).exit).toBe(3)
})

test('app onboard without a terminal runs from flags, and --dry-run changes nothing', async () => {
  const { authctl, folder } = await signedIn()
  const command = [
    'app',
    'onboard',
    'flagged',
    '--name',
    'Flagged',
    '--redirect',
    'https://f.example.com/cb',
    '--user',
    admin.email,
  ].concat('--dotenv', 'flagged.env', '--permission-file', 'p.yaml', '--framework', 'hono', '--reason', 'first one', '--json')
  const plan = await authctl([...command, '--dry-run'])
  expect(plan.exit).toBe(0)
  expect(parsed(plan)).toMatchObject([
    { request: { method: 'POST', body: { code: 'flagged' } } },
    { request: { method: 'POST', body: { reason: 'first one' } } },
  ])
  expect(plan.stderr).toContain('flagged.env would be written')
  expect((await authctl('app show flagged')).exit).toBe(3)
  expect(existsSync(join(folder, 'flagged.env'))).toBe(false)

  const done = await authctl(command)
  expect(done.exit).toBe(0)
  expect(done.stderr).toMatch(/^its tokens carry every permission of its services; --permission-scope roles limits them/m)
  expect(parsed(done)).toMatchObject({
    app: { code: 'flagged', name: 'Flagged' },
    steps: [
      { step: 'app flagged', outcome: 'created' },
      { step: `grant to ${admin.email}`, outcome: 'granted' },
      { step: 'flagged.env', outcome: 'written' },
      { step: 'p.yaml', outcome: 'written' },
    ],
    commands: [
      'authctl app create flagged --name Flagged --redirect https://f.example.com/cb',
      `authctl grant add --app flagged --user ${admin.email} --reason 'first one'`,
      'authctl app env flagged > flagged.env',
    ],
    next: ['authctl permission register -f p.yaml'],
    snippet: expect.stringContaining('c.var.auth'),
  })
})

test('app onboard exits with 5 for an existing app, and continues with --if-exists skip', async () => {
  const { authctl, terminal } = await signedIn()
  await authctl('app create there --name There')
  const taken = await authctl('app onboard there --name Else --json')
  expect(taken.exit).toBe(5)
  expect(errorOf(taken)).toMatchObject({ code: 'app_code_taken', hint: expect.stringContaining('--if-exists skip') })
  const skipped = await authctl(`app onboard there --if-exists skip --user ${admin.email} --json`)
  expect(skipped.exit).toBe(0)
  expect(parsed(skipped)).toMatchObject({ app: { name: 'There' }, steps: [{ outcome: 'unchanged' }, { outcome: 'granted' }] })
  const declined = terminal('app onboard there')
  await declined.shows('Continue with it unchanged? (yes/no)')
  declined.type('no\r')
  expect((await declined.ended()).exit).toBe(9)
})

test('app onboard replaces settings only with --yes or a yes, and keeps all other lines', async () => {
  const { authctl, terminal, folder } = await signedIn()
  const env = join(folder, '.env')
  const before = '# mine\nMINE=1\nSERVICE_APP_CODE=other\nSERVICE_COOKIE_SECRET="a # b"'
  writeFileSync(env, before)
  chmodSync(env, 0o644)
  const command = 'app onboard kept --name Kept --dotenv .env'
  const refused = await authctl(`${command} --json`)
  expect(refused.exit).toBe(2)
  expect(errorOf(refused).message).toContain('replace SERVICE_APP_CODE in .env')
  const declined = terminal(
    `${command} --redirect "" --no-auto-grant --permission-scope roles --user "" --permission-file "" --framework koa`,
  )
  await declined.shows('Really replace SERVICE_APP_CODE in .env? (yes/no)')
  declined.type('no\r')
  expect((await declined.ended()).exit).toBe(9)
  expect((await authctl('app show kept')).exit).toBe(3)
  expect(readFileSync(env, 'utf8')).toBe(before)

  expect((await authctl(`${command} --yes`)).exit).toBe(0)
  expect(readFileSync(env, 'utf8')).toMatch(
    /^# mine\nMINE=1\nSERVICE_APP_CODE=kept\nSERVICE_COOKIE_SECRET="a # b"\nSERVICE_AUTH_URL=.*\nSERVICE_APP_ID=.*\nJWT_ACCESS_SECRET=replace-me\n$/,
  )
  expect(statSync(env).mode & 0o777).toBe(0o600)
  // The placeholder for the secret replaces no secret.
  writeFileSync(env, readFileSync(env, 'utf8').replace('replace-me', ACCESS_SECRET))
  expect(readdirSync(folder).filter((name) => name.endsWith('.tmp'))).toEqual([])
  const again = await authctl('app onboard kept --if-exists skip --dotenv .env --json')
  expect(parsed(again).steps).toEqual([
    { step: 'app kept', outcome: 'unchanged' },
    { step: '.env', outcome: 'unchanged' },
  ])
})

test('app onboard with an unknown user stops before it asks, and a later failure reports what was done', async () => {
  const { authctl, terminal } = await signedIn()
  const wizard = terminal('app onboard --user nobody@example.com')
  const { screen, exit: early } = await wizard.ended()
  expect({ early, asks: screen.includes('Code of the app') }).toEqual({ early: 3, asks: false })
  expect((await authctl('app onboard early --name Early --user nobody@example.com')).exit).toBe(3)
  expect((await authctl(`app onboard early --name Early --user ${nobody}`)).exit).toBe(3)
  expect((await authctl('app show early')).exit).toBe(3)
  const late = await authctl('app onboard late --name Late --dotenv no/such/folder/.env --json')
  expect(late.exit).toBe(6)
  expect(errorOf(late)).toMatchObject({
    code: 'file_unwritable',
    hint: expect.stringContaining('done before that: app late created'),
  })
  expect((await authctl('app onboard late --if-exists skip --dotenv .env')).exit).toBe(0)
})

test('the commands that app onboard prints name the context if it is not the current one', async () => {
  const { authctl, readContexts } = await signedIn()
  const token = readContexts().contexts.default!.tokens!.access_token as string
  await authctl('context set elsewhere --base-url http://127.0.0.1:9')
  await authctl('context use elsewhere')
  const { commands } = parsed(
    await authctl(`app onboard addressed --name A --context default --base-url ${service.url}/ --json`, {
      env: { AUTHCTL_TOKEN: token },
    }),
  )
  expect(commands).toEqual(['authctl app create addressed --name A --context default'])
})

test.skipIf(isFastLane)('the snippet for each framework compiles in strict mode against the SDK', () => {
  const folder = fileURLToPath(new URL('../../packages/sdk/src/', import.meta.url))
  const sources = new Map(
    frameworks.map((framework) => [join(folder, `snippet-${framework}.ts`), snippetFor(framework).join('\n')]),
  )
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    esModuleInterop: true,
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    allowImportingTsExtensions: true,
    customConditions: ['source'],
    types: ['node'],
  }
  const host = ts.createCompilerHost(options)
  const { fileExists, readFile, getSourceFile } = host
  host.fileExists = (name) => sources.has(name) || fileExists.call(host, name)
  host.readFile = (name) => sources.get(name) ?? readFile.call(host, name)
  host.getSourceFile = (name, ...more) =>
    sources.has(name)
      ? ts.createSourceFile(name, sources.get(name)!, ts.ScriptTarget.ES2023)
      : getSourceFile.call(host, name, ...more)
  const program = ts.createProgram([...sources.keys()], options, host)
  const told = ts.getPreEmitDiagnostics(program).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))
  expect(told).toEqual([])
})

test('app onboard with e-mail domains and auto-grant suggests verified addresses', async () => {
  const { authctl, terminal } = await signedIn()
  const flagged = await authctl('app onboard corp --name Corp --auto-grant --email-domain corp.test --json')
  expect(flagged.stderr).toContain('--require-verified-email lets in only users')
  expect(parsed(flagged).app).toMatchObject({ allowed_email_domains: ['corp.test'], require_verified_email: false })
  const wizard = terminal(
    'app onboard vault --name Vault --auto-grant --email-domain corp.test --redirect= --user= --dotenv= --permission-file= --framework koa --permission-scope roles',
  )
  await wizard.shows('Let in only users who have verified theirs? (yes/no)')
  wizard.type('yes\r')
  const { screen, exit } = await wizard.ended()
  expect(exit).toBe(0)
  expect(screen).toContain(
    'app create vault --name Vault --email-domain corp.test --auto-grant --require-verified-email --permission-scope roles',
  )
  expect(parsed(await authctl('app show vault --json'))).toMatchObject({ require_verified_email: true })
})

/** Simulates `npm start` in the folder: the secret that the service signs with is stored there. */
async function besideService(secret = ACCESS_SECRET) {
  const machine = await signedIn()
  mkdirSync(join(machine.folder, '.gatehouse'))
  writeFileSync(join(machine.folder, '.gatehouse', 'jwt-access-secret'), `${secret}\n`)
  const environment = () => parseEnv(readFileSync(join(machine.folder, '.env'), 'utf8'))
  return { ...machine, environment }
}

test('app onboard --dev creates an app, its settings, a service account and a token that the SDK accepts', async () => {
  const { authctl, environment, folder } = await besideService()
  const done = await authctl('app onboard quick --dev --json')
  expect(done).toMatchObject({ exit: 0 })
  const { app, steps, commands, user, access_token, expires_in } = parsed(done)
  expect(app).toMatchObject({ code: 'quick', name: 'quick', permission_scope: 'roles', auto_grant_on_signup: false })
  expect(steps).toEqual([
    { step: 'app quick', outcome: 'created' },
    { step: 'service account for quick', outcome: 'created' },
    { step: 'user dev@example.com@@default', outcome: 'created' },
    { step: 'grant to dev@example.com@@default', outcome: 'granted' },
    { step: '.env', outcome: 'written' },
  ])
  expect(commands).toEqual([
    'authctl app create quick --name quick --permission-scope roles',
    "authctl service-account create 'quick, development' --service quick",
    'authctl user create --email dev@example.com --pool default --verified --password-stdin',
    'authctl grant add --app quick --user dev@example.com@@default',
  ])
  expect(statSync(join(folder, '.env')).mode & 0o777).toBe(0o600)
  // docker run --env-file takes quotes for a part of the value.
  expect(readFileSync(join(folder, '.env'), 'utf8')).not.toMatch(/["']/)
  const env = environment()
  expect(env).toEqual({
    SERVICE_AUTH_URL: service.url,
    SERVICE_APP_CODE: 'quick',
    SERVICE_APP_ID: app.id,
    JWT_ACCESS_SECRET: ACCESS_SECRET,
    SERVICE_ACCOUNT_TOKEN: expect.stringMatching(/^gsa_/),
  })
  expect(done.stdout + done.stderr).not.toContain(ACCESS_SECRET)
  expect(done.stdout + done.stderr).not.toContain(env.SERVICE_ACCOUNT_TOKEN)

  const permissions = definePermissions('quick', { 'quick:read': 'Read' })
  const auth = createAuth({
    authUrl: env.SERVICE_AUTH_URL!,
    appCode: env.SERVICE_APP_CODE!,
    appId: env.SERVICE_APP_ID!,
    secret: env.JWT_ACCESS_SECRET!,
    serviceToken: env.SERVICE_ACCOUNT_TOKEN!,
    permissions,
    revocation: { mode: 'off' },
  })
  expect((await auth.verify(access_token)).claims).toMatchObject({ email: 'dev@example.com', app_code: 'quick' })
  expect(await auth.registerPermissions({ mode: 'require' }).ready).toMatchObject({ created: 1 })
  await auth.close()
  expect(expires_in).toBeGreaterThan(60)
  const login = await fetch(`${service.url}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: user.email, password: user.password, app_code: 'quick' }),
  })
  expect(login.status).toBe(200)
})

test('app onboard --dev changes nothing the second time, shares its user with a second app, and asks nothing', async () => {
  const { authctl, terminal, environment, folder } = await besideService()
  await authctl('app onboard twice --dev')
  const first = environment()
  const again = parsed(await authctl('app onboard twice --dev --json'))
  expect(again.steps.map(({ outcome }: { outcome: string }) => outcome)).toEqual(['unchanged', 'unchanged', 'unchanged'])
  expect(environment()).toEqual(first)
  const accounts = parsed(await authctl('service-account list --json'))
  expect(accounts.filter(({ service }: { service: string }) => service === 'twice').length).toBe(1)

  mkdirSync(join(folder, 'other'))
  const shown = terminal('app onboard other --dev --dotenv other/.env --framework koa')
  const { screen, exit } = await shown.ended()
  expect(exit).toBe(0)
  expect(screen).not.toContain('?')
  expect(screen).toContain("import { requireAuth } from '@gatehouse/sdk/koa'\n")
  expect(screen).toMatch(/curl -H "Authorization: Bearer [\w-]+\.[\w-]+\.[\w-]+" http:\/\/127\.0\.0\.1:3000\/\n/)
  expect(parsed(await authctl('grant list --user dev@example.com --json')).length).toBeGreaterThanOrEqual(2)
})

test('app onboard --dev keeps other lines of the file, and exits with 5 if another file has the settings', async () => {
  const { authctl, folder } = await besideService()
  await authctl('app onboard lines --dev')
  const env = join(folder, '.env')
  const mine = '# for the pages\nSERVICE_REDIRECT_URL=http://localhost:3000/callback\nSERVICE_COOKIE_SECRET=abc\n'
  appendFileSync(env, mine)
  const before = readFileSync(env, 'utf8')
  const again = await authctl('app onboard lines --dev --json')
  expect([again.exit, parsed(again).steps.at(-1)]).toEqual([0, { step: '.env', outcome: 'unchanged' }])
  expect(readFileSync(env, 'utf8')).toBe(before)
  // A file that holds only the lines of others gets those of the app.
  rmSync(env)
  writeFileSync(env, mine)
  const name = 'lines, development'
  expect((await authctl(['service-account', 'delete', name, '--confirm', name])).exit).toBe(0)
  expect((await authctl('app onboard lines --dev')).exit).toBe(0)
  expect(readFileSync(env, 'utf8').startsWith(`${mine}SERVICE_AUTH_URL=`)).toBe(true)

  const elsewhere = await authctl('app onboard lines --dev --dotenv other.env --json')
  expect(elsewhere.exit).toBe(5)
  expect(errorOf(elsewhere)).toMatchObject({
    code: 'service_account_name_taken',
    message: 'the settings of lines are in another file, with the token of its service account',
    hint: expect.stringContaining("authctl service-account delete 'lines, development'"),
  })
})

test('app onboard --dev refuses a remote service and a missing or wrong secret before it does anything', async () => {
  const { authctl, folder } = await besideService('the secret of some other service, which is long enough')
  const mismatched = await authctl('app onboard never --dev --json')
  expect(mismatched.exit).toBe(6)
  expect(errorOf(mismatched).code).toBe('other_secret')
  const missing = await authctl('app onboard never --dev --service-folder elsewhere --json')
  expect(missing.exit).toBe(6)
  expect(errorOf(missing)).toMatchObject({ code: 'no_local_secret', message: expect.stringContaining('elsewhere/.gatehouse') })
  for (const url of [
    'https://auth.example.com',
    'http://127.0.0.1.example.com',
    'http://192.168.0.7:4000',
    'http://localhost.example.com',
  ]) {
    const remote = await authctl(`app onboard never --dev --base-url ${url} --json`)
    expect({ url, exit: remote.exit }).toEqual({ url, exit: 2 })
    expect(errorOf(remote).message).toContain('--dev is for a service on this machine')
  }
  expect((await authctl('app show never')).exit).toBe(3)
  expect(existsSync(join(folder, '.env'))).toBe(false)
})

test('app onboard --dev leaves a foreign account alone and says what to do, and --dry-run changes nothing', async () => {
  const { authctl } = await besideService()
  const dry = await authctl('app onboard planned --dev --dry-run --json')
  expect(dry.exit).toBe(0)
  expect(dry.stderr).toContain('a service account, a user with access, and a token would follow')
  expect((await authctl('app show planned')).exit).toBe(3)
  expect((await authctl('app create apart --name Apart --pool apart')).exit).toBe(0)
  await authctl('user create --email dev@example.com --pool apart --password-stdin', { input: 'a password of its own' })
  const refused = await authctl('app onboard apart --dev --json')
  expect(refused.exit).toBe(5)
  expect(errorOf(refused)).toMatchObject({
    code: 'invalid_credentials',
    hint: expect.stringContaining('authctl user delete dev@example.com@@apart'),
  })
})
