import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { admin, gatehouseFixture, machine, nobody, parsed, register } from './sandbox.ts'

const { service, signedIn } = gatehouseFixture()

describe('app', () => {
  test('app create sends each flag, and app show reads it back', async () => {
    const { authctl } = await signedIn()
    await authctl('app create full-linked --name L')
    const created = await authctl(
      'app create full --name "The full one" --redirect https://a.example/cb https://b.example/* --redirect com.example.app:/cb --pool staff ' +
        '--read-pool default partners --auto-grant --link full-linked --service full orders --description "All of it" --sign-up invitation --no-organization-sign-up --require-verified-email ' +
        '--permission-scope roles --frontend-url https://a.example --email-domain example.com *.corp.com --auth-method password --json',
    )
    expect(created.exit).toBe(0)
    expect(parsed(created)).toMatchObject({
      outcome: 'created',
      code: 'full',
      name: 'The full one',
      description: 'All of it',
      allowed_redirect_urls: ['https://a.example/cb', 'https://b.example/*', 'com.example.app:/cb'],
      registration_namespace: 'staff',
      read_namespaces: ['default', 'partners'],
      auto_grant_on_signup: true,
      linked_app_codes: ['full-linked'],
      service_codes: ['full', 'orders'],
      sign_up: 'invitation',
      organization_sign_up: false,
      require_verified_email: true,
      permission_scope: 'roles',
      frontend_url: 'https://a.example',
      allowed_email_domains: ['example.com', '*.corp.com'],
      allowed_auth_methods: ['password'],
    })
    const { outcome: _, ...app } = parsed(created)
    expect(parsed(await authctl('app show full --json'))).toEqual(app)
    expect(parsed(await authctl(`app show ${app.id} --json`))).toEqual(app)
  })

  test('app create with a taken code exits with 5 unless --if-exists says otherwise', async () => {
    const { authctl } = await signedIn()
    await authctl('app create taken --name Before')
    const again = await authctl('app create taken --name After --json')
    expect({ stdout: again.stdout, exit: again.exit }).toEqual({ stdout: '', exit: 5 })
    expect(JSON.parse(again.stderr).error).toMatchObject({ code: 'app_code_taken', exit: 5 })
    expect(parsed(await authctl('app create taken --name After --if-exists skip --json'))).toMatchObject({
      name: 'Before',
      outcome: 'unchanged',
    })
    expect(parsed(await authctl('app create taken --name After --if-exists update --json'))).toMatchObject({
      name: 'After',
      outcome: 'updated',
    })
    expect(parsed(await authctl('app create taken --name After --if-exists update --json'))).toMatchObject({
      name: 'After',
      outcome: 'unchanged',
    })
    expect((await authctl('app create taken --name After --if-exists perhaps')).exit).toBe(2)
  })

  test('app update changes the given fields and clears those that are given empty', async () => {
    const { authctl } = await signedIn()
    await authctl('app create changing --name Changing --auto-grant --description Text --read-pool staff')
    expect((await authctl('app update changing')).exit).toBe(2)
    expect(parsed(await authctl('app update changing --no-auto-grant --description "" --read-pool "" --json'))).toMatchObject({
      outcome: 'updated',
      name: 'Changing',
      auto_grant_on_signup: false,
      description: null,
      read_namespaces: [],
    })
    expect(parsed(await authctl('app update changing --name Changing --json'))).toMatchObject({ outcome: 'unchanged' })
    expect((await authctl('app update nowhere --name X')).exit).toBe(3)
  })

  test('webhooks come from a file, and --dry-run hides their secret', async () => {
    const { authctl, folder } = await signedIn()
    const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`
    writeFileSync(join(folder, 'hooks.json'), JSON.stringify([{ name: 'crm', url: 'https://crm.example/hook', secret }]))
    const plan = await authctl('app create hooked --name Hooked --webhook-file hooks.json --dry-run')
    expect(plan.stdout).toContain('https://crm.example/[redacted]')
    expect(plan.stdout).not.toContain(secret)
    const created = await authctl('app create hooked --name Hooked --webhook-file hooks.json --json')
    expect(parsed(created).webhooks).toEqual([
      { name: 'crm', url: 'https://crm.example/hook', events: ['user.registered'], enabled: true, has_secret: true },
    ])
    writeFileSync(join(folder, 'hooks.json'), '[')
    expect((await authctl('app update hooked --webhook-file hooks.json')).exit).toBe(6)
  })

  test('app deactivate needs --yes, app activate undoes it, and repeating either is unchanged', async () => {
    const { authctl } = await signedIn()
    await authctl('app create closing --name Closing')
    const refused = await authctl('app deactivate closing')
    expect(refused).toMatchObject({ stdout: '', exit: 2 })
    expect(refused.stderr).toContain('--yes')
    expect(parsed(await authctl('app show closing --json')).status).toBe('active')
    expect(parsed(await authctl('app deactivate closing --yes --json'))).toMatchObject({
      status: 'inactive',
      outcome: 'deactivated',
    })
    expect(parsed(await authctl('app deactivate closing --yes --json'))).toMatchObject({ outcome: 'unchanged' })
    expect(parsed(await authctl('app list --status inactive --q closing --json'))).toHaveLength(1)
    expect(parsed(await authctl('app activate closing --json'))).toMatchObject({ status: 'active', outcome: 'activated' })
    expect(parsed(await authctl('app activate closing --json'))).toMatchObject({ outcome: 'unchanged' })
    expect((await authctl('app deactivate authctl --yes')).exit).toBe(5)
  })

  test('app delete needs --confirm with the code, and --yes is not enough', async () => {
    const { authctl } = await signedIn()
    await authctl('app create doomed --name Doomed')
    for (const flags of ['', '--yes', '--confirm other', '--yes --confirm Doomed']) {
      const refused = await authctl(`app delete doomed ${flags}`)
      expect(refused).toMatchObject({ stdout: '', exit: 2 })
      expect(refused.stderr).toContain('--confirm')
    }
    expect((await authctl('app show doomed')).exit).toBe(0)
    await authctl(`grant add --app doomed --user ${admin.email}`)
    expect((await authctl('app delete doomed --confirm doomed')).exit).toBe(5)
    expect(parsed(await authctl('app delete doomed --confirm doomed --force --json'))).toEqual({
      code: 'doomed',
      outcome: 'deleted',
    })
    expect((await authctl('app delete doomed --confirm doomed')).exit).toBe(3)
    expect((await authctl('app delete authctl --confirm authctl')).exit).toBe(5)
  })

  test('app env prints what the SDK reads, with a placeholder for the secret', async () => {
    const { authctl } = await signedIn()
    const { id } = parsed(await authctl('app create consumer --name Consumer --json'))
    const env = await authctl('app env consumer')
    expect(env.stdout).toBe(
      `SERVICE_AUTH_URL=${service.url}\nSERVICE_APP_CODE=consumer\nSERVICE_APP_ID=${id}\nJWT_ACCESS_SECRET=replace-me\n`,
    )
    expect(env.stderr).toContain('secret store')
    expect(parsed(await authctl('app env consumer -o json'))).toEqual({
      SERVICE_AUTH_URL: service.url,
      SERVICE_APP_CODE: 'consumer',
      SERVICE_APP_ID: id,
      JWT_ACCESS_SECRET: 'replace-me',
    })
    expect((await authctl('app env consumer -o table')).exit).toBe(2)
    expect((await authctl('app env nowhere')).exit).toBe(3)
  })

  test('app list returns all pages, or --limit entries', async () => {
    const { authctl, readContexts } = await signedIn()
    const token = readContexts().contexts.default!.tokens!.access_token
    await Promise.all(
      Array.from({ length: 210 }, (_, index) =>
        fetch(`${service.url}/api/v1/admin/apps`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: JSON.stringify({ code: `many-${index}`, name: 'Many' }),
        }),
      ),
    )
    expect(new Set(parsed(await authctl('app list --q many- --json')).map(({ code }: { code: string }) => code)).size).toBe(210)
    expect((await authctl('app list --q many- -o ndjson')).stdout.trimEnd().split('\n')).toHaveLength(210)
    expect(parsed(await authctl('app list --q many- --limit 205 --json'))).toHaveLength(205)
    expect(parsed(await authctl('app list --limit 3 --json'))).toHaveLength(3)
    expect((await authctl('app list --limit 0')).exit).toBe(2)
    expect((await authctl('app list --limit many')).exit).toBe(2)
  })

  test('a value that the service finds invalid exits with 6 and names the field', async () => {
    const { authctl } = await signedIn()
    const refused = await authctl('app create Bad_Code --name Bad --json')
    expect(refused.exit).toBe(6)
    expect(JSON.parse(refused.stderr).error).toMatchObject({
      code: 'validation_failed',
      message: expect.stringContaining('code: '),
      exit: 6,
    })
    expect((await authctl('app show ..')).exit).toBe(6)
    expect((await authctl('app show a/b')).exit).toBe(6)
  })
})

describe('grant and user', () => {
  test('grant add, list and revoke work, and a repeat is unchanged with exit 0', async () => {
    const { authctl } = await signedIn()
    await authctl('app create door --name Door')
    await authctl('app create sign-up --name S --auto-grant')
    const { user } = await register(service.url, { email: 'bob@example.com', password: 'a fine password', app_code: 'sign-up' })

    const added = await authctl('grant add --app door --user bob@example.com --expires 30d --reason "for the audit" --json')
    expect(added.exit).toBe(0)
    expect(parsed(added)).toMatchObject({
      user_id: user.id,
      app_code: 'door',
      status: 'active',
      reason: 'for the audit',
      outcome: 'granted',
    })
    expect(Date.parse(parsed(added).expires_at) - Date.now()).toBeGreaterThan(29.9 * 86_400_000)
    expect(parsed(await authctl(`grant add --app door --user ${user.id} --json`))).toMatchObject({ outcome: 'unchanged' })
    // The service returns only the id, but people know the address that they typed.
    const shown = await authctl('grant add --app door --user bob@example.com -o table')
    expect(shown.stdout).toMatch(/^USER +bob@example\.com\n/)
    expect(
      parsed(await authctl('grant add --app door --user bob@example.com@@default --expires 2099-01-31 --json')),
    ).toMatchObject({
      outcome: 'updated',
      expires_at: '2099-01-31T00:00:00.000Z',
    })

    const table = await authctl('grant list --app door -o table')
    expect(table.stdout).toMatch(/STATE +VIA +GRANTED BY +REASON/)
    expect(table.stdout).toContain(admin.email)
    expect(table.stdout).toContain('for the audit')
    const codes = (list: { app_code: string }[]) => list.map(({ app_code }) => app_code).sort()
    expect(codes(parsed(await authctl('grant list --user bob@example.com --json')))).toEqual(['door', 'sign-up'])
    expect(codes(parsed(await authctl('grant list --app door --json')))).toEqual(['door'])
    expect(codes(parsed(await authctl('grant list --app door --user bob@example.com --json')))).toEqual(['door'])
    expect(codes(parsed(await authctl('grant list --json')))).toEqual(expect.arrayContaining(['door', 'sign-up']))
    expect(parsed(await authctl('grant list --limit 1 --json'))).toHaveLength(1)
    const ofBob = 'grant list --user bob@example.com --json'
    expect(codes(parsed(await authctl(`${ofBob} --state active`)))).toEqual(['door', 'sign-up'])
    expect(codes(parsed(await authctl(`${ofBob} --state expired`)))).toEqual([])
    expect(codes(parsed(await authctl(`${ofBob} --expires-before 2099-02-01`)))).toEqual(['door'])
    expect(parsed(await authctl('grant list --app door --expires-before 30d --json'))).toEqual([])
    expect(parsed(await authctl(ofBob))[0].user.email).toBe('bob@example.com')
    expect((await authctl('grant list --expires-before never')).exit).toBe(2)

    const refused = await authctl('grant revoke --app door --user bob@example.com')
    expect(refused).toMatchObject({ stdout: '', exit: 2 })
    expect(refused.stderr).toContain('--yes')
    const planned = await authctl('grant revoke --app door --user bob@example.com --dry-run -o table')
    expect(planned).toMatchObject({ stdout: `DELETE ${service.url}/api/v1/admin/users/${user.id}/apps/door\n`, exit: 0 })
    expect(parsed(await authctl('grant list --app door --json'))[0].status).toBe('active')
    expect(parsed(await authctl('grant revoke --app door --user bob@example.com --yes --json'))).toMatchObject({
      status: 'revoked',
      outcome: 'revoked',
    })
    expect(parsed(await authctl('grant revoke --app door --user bob@example.com --yes --json'))).toMatchObject({
      status: 'revoked',
      outcome: 'unchanged',
    })
    expect((await authctl('grant revoke --app door --user bob@example.com --yes')).stdout).toContain('unchanged')
    expect(parsed(await authctl(`grant revoke --app door --user ${admin.email} --yes --json`))).toMatchObject({
      app_code: 'door',
      outcome: 'unchanged',
    })
  })

  test('an unknown app or user exits with 3, a malformed value with 6, and a missing one with 2', async () => {
    const { authctl } = await signedIn()
    for (const command of [
      'grant add --app nowhere --user ada@example.com',
      'grant add --app authctl --user nobody@example.com',
      `grant add --app authctl --user ${nobody}`,
      'grant revoke --app nowhere --user ada@example.com --yes',
      `grant revoke --app authctl --user ${nobody} --yes`,
      'grant list --app nowhere',
      `grant list --user ${nobody}`,
      'grant list --app nowhere --user ada@example.com',
      'user show nobody@example.com',
      'user show ada@example.com@@elsewhere',
      `user show ${nobody}`,
    ]) {
      expect({ command, exit: (await authctl(command)).exit }).toEqual({ command, exit: 3 })
    }
    for (const command of [
      'user show ada',
      'user show ada@example.com@@',
      'grant add --app authctl --user @x',
      'grant add --app authctl --user ada@example.com --expires tomorrow',
    ]) {
      expect({ command, exit: (await authctl(command)).exit }).toEqual({ command, exit: 6 })
    }
    for (const command of [
      'grant add --app authctl',
      'grant add --user a@example.com',
      'grant revoke --yes',
      'user show',
      'app show',
      'api GET',
    ]) {
      expect({ command, exit: (await authctl(command)).exit }).toEqual({ command, exit: 2 })
    }
  })

  test('an e-mail address of two users exits with 6 and the candidates, and a pool names one of them', async () => {
    const { authctl } = await signedIn()
    await authctl('app create twin-one --name One --auto-grant --pool red')
    await authctl('app create twin-two --name Two --auto-grant --pool blue')
    const red = await register(service.url, { email: 'twin@example.com', password: 'a fine password', app_code: 'twin-one' })
    const blue = await register(service.url, { email: 'twin@example.com', password: 'a fine password', app_code: 'twin-two' })
    const ambiguous = await authctl('user show twin@example.com')
    expect(ambiguous).toMatchObject({ stdout: '', exit: 6 })
    for (const candidate of [`twin@example.com@@red  ${red.user.id}`, `twin@example.com@@blue  ${blue.user.id}`]) {
      expect(ambiguous.stderr).toContain(candidate)
    }
    expect(JSON.parse((await authctl('user show twin@example.com --json')).stderr).error).toMatchObject({
      code: 'ambiguous_user',
      exit: 6,
    })
    expect(parsed(await authctl('user show twin@example.com@@blue --json')).id).toBe(blue.user.id)
    expect(parsed(await authctl('user show TWIN@example.com@@red --json')).id).toBe(red.user.id)
    expect((await authctl('grant revoke --app twin-one --user twin@example.com --yes')).exit).toBe(6)
  })

  test('grant explain shows what a login would answer, step by step, and the command that solves it', async () => {
    const { authctl } = await signedIn()
    await authctl('app create explained --name E')
    await authctl('app create explained-too --name E --auto-grant')
    await register(service.url, { email: 'eve@example.com', password: 'a fine password', app_code: 'explained-too' })
    const command = 'grant explain --app explained --user eve@example.com'
    const refused = await authctl(command)
    expect(refused.exit).toBe(0)
    expect(parsed(refused)).toMatchObject({ outcome: 'app_access_denied', steps: expect.any(Array) })
    const table = await authctl(`${command} -o table`)
    const [head, ...rows] = table.stdout.split('\n')
    expect(head).toMatch(/^STEP +CHECK +OK +CODE +DETAIL$/)
    expect(rows.find((row) => row.includes('app_access_denied'))).toMatch(
      /^8 +access +no +app_access_denied +The user has no grant/,
    )
    expect(table.stdout).toMatch(
      /\n\noutcome: app_access_denied\n {2}authctl grant add --app explained --user eve@example.com@@default\n$/,
    )
    const remedy = table.stdout
      .trimEnd()
      .split('\n')
      .at(-1)!
      .trim()
      .replace(/^authctl /, '')
    expect((await authctl(remedy)).exit).toBe(0)
    expect(parsed(await authctl(command))).toMatchObject({ outcome: 'granted', claims: { app_code: 'explained' } })
    expect((await authctl(`${command} -o table`)).stdout).toMatch(/\noutcome: granted\n$/)
  })

  test('grant explain also answers for unknown users and apps, and for the named pool', async () => {
    const { authctl } = await signedIn()
    const outcome = async (flags: string) => parsed(await authctl(`grant explain ${flags}`)).outcome
    expect(await outcome('--app nowhere --user ada@example.com')).toBe('app_not_found')
    expect(await outcome('--app authctl --user nobody@example.com')).toBe('invalid_credentials')
    expect(await outcome('--app authctl --user ada@example.com@@default')).toBe('granted')
    expect(await outcome('--app authctl --user ada@example.com --org 01997c2f-0000-7000-8000-000000000000')).toBe(
      'organization_membership_required',
    )
    expect((await authctl('grant explain --app authctl --user ada@example.com@@nowhere')).exit).toBe(3)
    expect((await authctl('grant explain --app authctl')).exit).toBe(2)
  })

  test('user find filters, and user show returns the whole user', async () => {
    const { authctl } = await signedIn()
    await authctl('app create finders --name F --auto-grant --pool finders')
    await register(service.url, {
      email: 'carol@example.com',
      password: 'a fine password',
      app_code: 'finders',
      first_name: 'Carol',
    })
    const emails = async (flags: string) =>
      parsed(await authctl(`user find ${flags} --json`)).map(({ email }: { email: string }) => email)
    expect(await emails('CAROL')).toEqual(['carol@example.com'])
    expect(await emails('--pool finders')).toEqual(['carol@example.com'])
    expect(await emails('--app finders')).toEqual(['carol@example.com'])
    expect(await emails('--email carol@example.com --status active')).toEqual(['carol@example.com'])
    expect(await emails('--role system_admin')).toEqual([admin.email])
    const none = await authctl('user find nobody-at-all -o table')
    expect(none).toEqual({ stdout: '', stderr: 'no users\n', exit: 0 })
    expect(parsed(await authctl('user show carol@example.com --json'))).toMatchObject({
      namespaces: ['finders'],
      apps: [{ app_code: 'finders', status: 'active' }],
      roles: expect.any(Array),
      organizations: [],
    })
  })

  test('a signed-in user without system_admin exits with 4', async () => {
    const { authctl } = await signedIn()
    await authctl('app create guests --name G --auto-grant')
    await register(service.url, { email: 'guest@example.com', password: 'a fine password', app_code: 'guests' })
    await authctl('grant add --app authctl --user guest@example.com')
    const guest = machine()
    await guest.login(service.url, { email: 'guest@example.com', password: 'a fine password' })
    expect((await guest.authctl('whoami')).exit).toBe(0)
    const refused = await guest.authctl('app list --json')
    expect({ stdout: refused.stdout, exit: refused.exit }).toEqual({ stdout: '', exit: 4 })
    expect(JSON.parse(refused.stderr).error).toMatchObject({ code: 'system_admin_required', exit: 4 })
  })
})

describe('api', () => {
  test('api calls any path, with a body from a file or standard input', async () => {
    const { authctl, folder } = await signedIn()
    const made = await authctl('api post admin/apps -f -', { input: '{"code": "raw", "name": "Raw"}' })
    expect(made.exit).toBe(0)
    expect(parsed(made)).toMatchObject({ code: 'raw', name: 'Raw' })
    writeFileSync(join(folder, 'changes.json'), '{"name": "Rawer"}')
    expect(parsed(await authctl('api PATCH /api/v1/admin/apps/raw -f changes.json'))).toMatchObject({ name: 'Rawer' })
    expect((await authctl('api GET /admin/apps?q=raw -o ndjson')).stdout.trimEnd().split('\n')).toHaveLength(1)
    expect(await authctl('api DELETE /admin/apps/raw')).toEqual({ stdout: '', stderr: '', exit: 0 })
  })

  test('api exits with the codes of every command', async () => {
    const { authctl, folder } = await signedIn()
    expect((await authctl('api GET /admin/nowhere')).exit).toBe(3)
    expect((await authctl('api POST /admin/apps -f -', { input: '{"nonsense": 1}' })).exit).toBe(6)
    expect((await authctl('api POST /admin/apps -f -', { input: 'no json' })).exit).toBe(6)
    expect((await authctl('api POST /admin/apps -f none.json')).exit).toBe(6)
    expect((await authctl('api PUT /admin/apps')).exit).toBe(6)
    expect((await authctl('api FETCH /admin/apps')).exit).toBe(2)
    expect((await authctl('api GET http://elsewhere.example/')).exit).toBe(2)
    writeFileSync(join(folder, 'many.ndjson'), '{"a":1}\n{"a":2}\n')
    expect((await authctl('api POST /admin/users/import -f many.ndjson --dry-run --json')).exit).toBe(0)
  })
})

test('grant request lists who asks for access, and approves or denies them', async () => {
  const { authctl } = await signedIn()
  await authctl('app create vault --name Vault')
  const users = ['ann', 'ben'].map((name) => `${name}-asks@example.com`)
  const ids: string[] = []
  for (const email of users) {
    const password = 'correct horse battery staple'
    const post = (path: string, body: object) =>
      fetch(`${service.url}/api/v1${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    expect((await authctl(`user create --email ${email} --verified --password-stdin`, { input: password })).exit).toBe(0)
    const asked = await post('/auth/access-requests', { email, password, app_code: 'vault', message: 'please' })
    expect(asked.status).toBe(201)
    ids.push(((await asked.json()) as { id: string }).id)
  }
  const listed = parsed(await authctl('grant request list --app vault --json'))
  expect(listed.map(({ id, message }: Record<string, string>) => [id, message])).toEqual(
    ids.toReversed().map((id) => [id, 'please']),
  )
  expect((await authctl('grant request list --app vault -o table')).stdout).toMatch(/^ID +APP +USER/)
  expect((await authctl(`grant request approve ${ids[0]} --expires 30d --dry-run`)).exit).toBe(0)
  expect(parsed(await authctl(`grant request approve ${ids[0]} --expires 30d --json`))).toMatchObject({
    status: 'approved',
    outcome: 'granted',
  })
  expect(parsed(await authctl(`grant request deny ${ids[1]} --reason later --json`))).toMatchObject({
    ...{ status: 'denied', reason: 'later', outcome: 'denied' },
  })
  expect(parsed(await authctl('grant request list --app vault --json'))).toEqual([])
  expect(parsed(await authctl('grant request list --app vault --status denied --json'))).toMatchObject([{ id: ids[1] }])
  expect((await authctl('grant request list --app vault -o table')).stderr).toBe('no requests\n')
  expect((await authctl(`grant request deny ${ids[0]}`)).exit).toBe(5)
  expect((await authctl('grant request approve 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f')).exit).toBe(3)
  const grants = parsed(await authctl('grant list --app vault --json'))
  expect(grants).toMatchObject([{ expires_at: expect.any(String) }])
})
