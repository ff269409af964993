import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseDeclaration } from '../../packages/cli/src/declarations/parse-declaration.ts'
import { addUser, apiError, errorOf, gatehouseFixture, type Machine, machine, parsed, reply, standIn } from './sandbox.ts'

const { service, signedInOnce: signedIn } = gatehouseFixture()

/** Writes a declaration to a file and returns the name of the file. */
function fileOf({ folder }: Machine, content: string | object, name = 'declared.yaml'): string {
  writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content))
  return name
}

/** A hundred thousand elements, written in four lines. */
const bomb = [
  'a: &a [x,x,x,x,x,x,x,x,x,x]',
  ...['b', 'c', 'd', 'e'].map((name, index) => `${name}: &${name} [${Array(10).fill(`*${'abcd'[index]}`)}]`),
].join('\n')
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

describe('apply --prune', () => {
  test('apply --prune needs --confirm with the context, continues after a failure, and keeps built-in entries', async () => {
    const here = await signedIn()
    const { authctl, terminal } = here
    const things = {
      services: [{ service: 'gone', permissions: [{ code: 'gone:read', name: 'Gone' }] }],
      roles: [
        { code: 'gone', name: 'Gone' },
        { code: 'held', name: 'Held', permissions: ['gone:read'] },
      ],
      apps: ['gone', 'used'].map((code) => ({ code, name: code })),
    }
    await authctl(`apply -f ${fileOf(here, things)}`)
    await addUser(here, { email: 'bob@example.com', password: 'correct horse battery' })
    await authctl('user role bob@example.com --role held')
    await authctl('grant add --app used --user bob@example.com')
    const file = fileOf(here, { services: [], roles: [], apps: [] })

    const before = (await authctl('export')).stdout
    const unconfirmed = await authctl(`apply -f ${file} --prune --json`)
    expect(unconfirmed.exit).toBe(2)
    expect(errorOf(unconfirmed).message).toContain('--confirm default')
    expect((await authctl(`apply -f ${file} --prune --confirm production`)).exit).toBe(2)
    const declined = terminal(`apply -f ${file} --prune`)
    await declined.shows('type default:')
    declined.type('production\r')
    expect((await declined.ended()).exit).toBe(9)
    expect((await authctl('export')).stdout).toBe(before)

    expect((await authctl(`diff -f ${file} --json`)).stderr).toContain('--prune')
    expect(parsed(await authctl(`diff -f ${file} --json`)).differences).toEqual([])
    expect(parsed(await authctl(`diff -f ${file} --prune --json`)).differences).toHaveLength(5)

    const pruned = await authctl(`apply -f ${file} --prune --confirm default --json`)
    expect(pruned.exit).toBe(8)
    expect(parsed(pruned)).toMatchObject({ changed: 3, failed: 2 })
    expect(parsed(pruned).changes).toEqual(
      expect.arrayContaining([
        { change: 'prune', kind: 'app', code: 'gone', outcome: 'pruned' },
        expect.objectContaining({ code: 'used', outcome: 'failed', error: expect.objectContaining({ code: 'app_in_use' }) }),
        expect.objectContaining({ code: 'held', outcome: 'failed', error: expect.objectContaining({ code: 'role_in_use' }) }),
        { change: 'prune', kind: 'role', code: 'gone', outcome: 'pruned' },
        { change: 'prune', kind: 'service', code: 'gone', outcome: 'pruned' },
      ]),
    )
    expect(parsed(await authctl('app list --json')).map(({ code }: { code: string }) => code)).toEqual(['used', 'authctl'])
    expect(parsed(await authctl('role list --json'))).toHaveLength(8)
    expect(parsed(await authctl('permission list --json'))).toHaveLength(2)
  })

  test('apply --prune leaves a section alone that the file does not have', async () => {
    const here = await signedIn()
    const { authctl } = here
    await authctl('app create other-section --name Other')
    const exported = (await authctl('export')).stdout
    const roles = exported.slice(exported.indexOf('\nroles:'), exported.indexOf('\napps:'))
    expect(parsed(await authctl(`apply -f ${fileOf(here, roles)} --prune --json`)).changed).toBe(0)
    expect((await authctl('app show other-section')).exit).toBe(0)
  })

  test('services can exchange permission codes, and roles keep them', async () => {
    const here = await signedIn()
    const { authctl } = here
    const permission = (code: string) => ({ code, name: code })
    const declared = (left: string, right: string) => ({
      services: [
        { service: 'left', permissions: [permission(left), permission('left:own')] },
        { service: 'right', permissions: [permission(right)] },
      ],
      roles: [{ code: 'both', name: 'Both', permissions: ['x:one', 'x:two'] }],
    })
    const others = (await authctl('export')).stdout
    expect((await authctl(`apply -f ${fileOf(here, declared('x:one', 'x:two'))}`)).exit).toBe(0)
    const exported = (await authctl('export')).stdout
    const exchanged = exported
      .replace(/x:one\n( +name: )x:one/, 'x:TMP\n$1x:TMP')
      .replace(/x:two\n( +name: )x:two/, 'x:one\n$1x:one')
      .replaceAll('x:TMP', 'x:two')
    const applied = await authctl(`apply -f ${fileOf(here, exchanged)} --prune --confirm default --json`)
    expect({ exit: applied.exit, stderr: applied.stderr }).toMatchObject({ exit: 0 })
    const { permissions } = parsed(await authctl('role show both --json'))
    expect(permissions).toEqual([
      { code: 'x:one', service: 'right' },
      { code: 'x:two', service: 'left' },
    ])
    expect((await authctl(`apply -f ${fileOf(here, others)} --prune --confirm default`)).exit).toBe(0)
  })
})

describe('apply', () => {
  test('apply creates services, roles and apps, and a repeat or an applied export changes nothing', async () => {
    const here = await signedIn()
    const { authctl } = here
    await authctl('org create acme --name Acme')
    const file = fileOf(
      here,
      `
services:
  - service: orders
    permissions:
      - { code: "orders:write", name: Write orders }
      - { code: "orders:read", name: Read orders }
roles:
  - { code: clerk, name: Clerk, permissions: ["orders:write", "users:read_self", "orders:read"] }
  - { code: seller, name: Seller, scope: org }
apps:
  - code: shop
    name: " Shop "
    default_organization_slug: acme
    default_role_code: seller
    override_role_codes: [seller, org_admin, seller]
    frontend_url: https://shop.example.com/
    allowed_email_domains: ["*.BÜCHER.example"]
    linked_app_codes: [not-there-yet]
    webhooks: [{ name: crm, url: "https://crm.example.com/hook" }]
`,
    )
    const before = await authctl(`diff -f ${file} --exit-code --json`)
    expect(before.exit).toBe(10)
    expect(errorOf(before).code).toBe('differences')
    expect(parsed(before).differences.map(({ change, kind, code }: Record<string, string>) => [change, kind, code])).toEqual([
      ['create', 'service', 'orders'],
      ['create', 'role', 'clerk'],
      ['create', 'role', 'seller'],
      ['create', 'app', 'shop'],
    ])
    const applied = await authctl(`apply -f ${file} --json`)
    expect(applied.exit).toBe(0)
    expect(parsed(applied)).toMatchObject({ outcome: 'applied', changed: 4, unchanged: 0, failed: 0 })
    expect(parsed(await authctl('app show shop --json'))).toMatchObject({
      name: 'Shop',
      default_organization_id: expect.stringMatching(/-/),
      default_role_code: 'seller',
      frontend_url: 'https://shop.example.com',
      service_codes: ['shop'],
      webhooks: [{ name: 'crm', events: ['user.registered'], enabled: true, has_secret: false }],
    })
    const nothing = { outcome: 'unchanged', changed: 0, failed: 0, changes: [] }
    expect(parsed(await authctl(`apply -f ${file} --json`))).toMatchObject({ ...nothing, unchanged: 4 })
    expect((await authctl(`diff -f ${file} --exit-code`)).exit).toBe(0)

    expect((await authctl('export -f exported.yaml')).exit).toBe(0)
    expect(parsed(await authctl('apply -f exported.yaml --json'))).toMatchObject(nothing)
    expect((await authctl('apply -f exported.yaml -o table')).stdout).toMatch(/^0 changed, \d+ unchanged\n$/)
    expect(parsed(await authctl('apply -f exported.yaml --prune --json'))).toMatchObject(nothing)
  })

  test('apply changes what the file says and resets what it leaves out', async () => {
    const here = await signedIn()
    const { authctl } = here
    const app = { code: 'wiki', name: 'Wiki', description: 'Notes', read_namespaces: ['a', 'b'], auto_grant_on_signup: true }
    const role = { code: 'editor', name: 'Editor', description: 'Edits', permissions: ['users:read_self'] }
    await authctl(`apply -f ${fileOf(here, { apps: [app], roles: [role] })}`)
    const file = fileOf(here, {
      apps: [{ code: 'wiki', name: 'Our wiki', read_namespaces: ['b', 'a'] }],
      roles: [{ code: 'editor', name: 'Editor', permissions: ['users:update_self'] }],
    })
    const table = await authctl(`diff -f ${file} -o table`)
    expect(table.stdout).toMatch(/^~ role editor\n/)
    expect(table.stdout).toContain('name                  Wiki → Our wiki\n')
    expect(table.stdout).toContain('auto_grant_on_signup  yes → no\n')
    expect(table.stdout).toContain('read_namespaces       in another order: b, a\n')
    expect(table.stdout).toMatch(/permissions +- users:read_self\n +\+ users:update_self\n/)
    expect(parsed(await authctl(`apply -f ${file} --json`)).changes).toEqual([
      { change: 'update', kind: 'role', code: 'editor', outcome: 'updated' },
      { change: 'update', kind: 'app', code: 'wiki', outcome: 'updated' },
    ])
    expect(parsed(await authctl('app show wiki --json'))).toMatchObject({
      name: 'Our wiki',
      description: null,
      read_namespaces: ['b', 'a'],
      auto_grant_on_signup: false,
    })
    expect(parsed(await authctl('role show editor --json'))).toMatchObject({
      description: null,
      permissions: [{ code: 'users:update_self' }],
    })
  })

  test('apply leaves entries alone that the file does not list, also permissions of a listed service', async () => {
    const here = await signedIn()
    const { authctl } = here
    const kept = { code: 'kept:read', name: 'Kept' }
    await authctl(
      `apply -f ${fileOf(here, {
        services: [{ service: 'kept', permissions: [kept] }],
        roles: [{ code: 'kept', name: 'Kept', permissions: ['kept:read'] }],
        apps: [{ code: 'kept', name: 'Kept' }],
      })}`,
    )
    const more = fileOf(here, {
      services: [{ service: 'kept', permissions: [{ code: 'kept:write', name: 'More' }] }],
      roles: [],
      apps: [],
    })
    const applied = await authctl(`apply -f ${more} --json`)
    expect(parsed(applied)).toMatchObject({ changed: 1, changes: [{ kind: 'service', code: 'kept', outcome: 'updated' }] })
    expect(applied.stderr).toContain('--prune')
    const codes = parsed(await authctl('permission list --service kept --json')).map(({ code }: { code: string }) => code)
    expect(codes.sort()).toEqual(['kept:read', 'kept:write'])
    expect((await authctl('app show kept')).exit).toBe(0)
    expect(parsed(await authctl('role show kept --json')).permissions).toHaveLength(1)
  })

  test('apply keeps the secret of a webhook, and no export, diff or plan shows it', async () => {
    const here = await signedIn()
    const { authctl } = here
    const hook = { name: 'crm', url: 'https://crm.example.com/hook' }
    const withSecret = fileOf(
      here,
      { apps: [{ code: 'hooked', name: 'Hooked', webhooks: [{ ...hook, secret }] }] },
      'secret.json',
    )
    for (const command of [`diff -f ${withSecret}`, `diff -f ${withSecret} -o table`, `apply -f ${withSecret} --dry-run`]) {
      const { stdout, stderr } = await authctl(command)
      expect({ command, shown: `${stdout}${stderr}`.includes(secret) }).toEqual({ command, shown: false })
    }
    await authctl(`apply -f ${withSecret}`)
    const webhooks = async () => parsed(await authctl('app show hooked --json')).webhooks
    expect(await webhooks()).toMatchObject([{ has_secret: true }])
    const { stdout } = await authctl('export')
    expect(stdout).toContain('https://crm.example.com/hook')
    expect(stdout).not.toMatch(/secret/)

    const without = fileOf(here, { apps: [{ code: 'hooked', name: 'H', webhooks: [{ ...hook, enabled: false }] }] })
    expect(parsed(await authctl(`apply -f ${without} --json`)).changed).toBe(1)
    expect(await webhooks()).toMatchObject([{ enabled: false, has_secret: true }])
    const cleared = fileOf(here, { apps: [{ code: 'hooked', name: 'H', webhooks: [{ ...hook, enabled: false, secret: null }] }] })
    expect(parsed(await authctl(`apply -f ${cleared} --json`)).changed).toBe(1)
    expect(await webhooks()).toMatchObject([{ has_secret: false }])
    expect(parsed(await authctl(`apply -f ${cleared} --json`)).changed).toBe(0)
  })

  test('two webhooks of one name keep their secrets, and a new URL drops the secret with a warning', async () => {
    const here = await signedIn()
    const { authctl } = here
    const hooks = ['a', 'b'].map((path) => ({ name: 'crm', url: `https://crm.example.com/${path}` }))
    const declare = (webhooks: object[]) => fileOf(here, { apps: [{ code: 'twofold', name: 'T', webhooks }] }, 'twofold.json')
    await authctl(`apply -f ${declare(hooks.map((hook) => ({ ...hook, secret })))}`)
    const webhooks = async () => parsed(await authctl('app show twofold --json')).webhooks
    const [one, other] = hooks.map((hook) => ({ ...hook, has_secret: true }))
    expect(await webhooks()).toMatchObject([one!, other!])

    const exported = fileOf(here, (await authctl('export')).stdout, 'exported.yaml')
    expect(parsed(await authctl(`apply -f ${exported} --json`)).changed).toBe(0)
    await authctl(`apply -f ${declare([...hooks].reverse())}`)
    expect(await webhooks()).toMatchObject([other!, one!])
    const cleared = declare([hooks[0]!, { ...hooks[1]!, secret: null }])
    expect(parsed(await authctl(`apply -f ${cleared} --json`)).changed).toBe(1)
    expect(await webhooks()).toMatchObject([one!, { ...other!, has_secret: false }])
    expect(parsed(await authctl(`apply -f ${cleared} --json`)).changed).toBe(0)

    const moved = { ...hooks[0]!, url: 'https://crm.example.com/c' }
    const { stderr } = await authctl(`apply -f ${declare([moved, hooks[1]!])}`)
    expect(stderr).toContain('app twofold: deliveries of crm to its new URL are not signed')
    expect(await webhooks()).toMatchObject([{ ...moved, has_secret: false }, { has_secret: false }])
    const twice = await authctl(`apply -f ${declare([hooks[0]!, hooks[0]!])}`)
    expect([twice.exit, twice.stderr]).toEqual([6, expect.stringContaining('webhooks[1]')])
  })

  test('apply --dry-run sends no change and shows what it would send', async () => {
    const here = await signedIn()
    const { authctl } = here
    const file = fileOf(here, {
      roles: [{ code: 'planned', name: 'Planned', permissions: ['users:read_self'] }],
      apps: [{ code: 'planned', name: 'Planned' }],
    })
    const { stdout, exit } = await authctl(`apply -f ${file} --dry-run --json`)
    expect(exit).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      dry_run: true,
      changed: 0,
      planned: 2,
      changes: [
        { kind: 'role', outcome: 'planned', requests: [{ method: 'POST' }, { method: 'POST' }] },
        { kind: 'app', outcome: 'planned', requests: [{ method: 'POST', body: { code: 'planned' } }] },
      ],
    })
    expect((await authctl('app show planned')).exit).toBe(3)
    expect((await authctl('role show planned')).exit).toBe(3)
  })

  test('apply needs --yes, or a yes, to deactivate an app', async () => {
    const here = await signedIn()
    const { authctl, terminal } = here
    await authctl('app create closing --name Closing')
    const file = fileOf(here, { apps: [{ code: 'closing', name: 'Closing', status: 'inactive' }] })
    const status = async () => parsed(await authctl('app show closing --json')).status
    expect((await authctl(`apply -f ${file}`)).exit).toBe(2)
    const declined = terminal(`apply -f ${file}`)
    await declined.shows('Really deactivate the app closing in default (http')
    declined.type('no\r')
    expect((await declined.ended()).exit).toBe(9)
    expect(await status()).toBe('active')
    expect((await authctl(`apply -f ${file} --yes`)).exit).toBe(0)
    expect(await status()).toBe('inactive')
    // An app that is inactive already shuts no one out, so nothing is asked.
    expect((await authctl(`apply -f ${file}`)).exit).toBe(0)
  })

  test('a failure in the middle is reported with the applied changes, and a repeat continues', async () => {
    const here = await signedIn()
    const { authctl } = here
    const token = here.readContexts().contexts.default!.tokens!.access_token as string
    const env = { AUTHCTL_TOKEN: token }
    const middle = await standIn(async ({ method, path, body }, response) => {
      if (method === 'POST' && path.endsWith('/apps') && JSON.parse(body).code === 'second')
        return reply(response, 503, apiError(503, 'unavailable'), { 'retry-after': '0' })
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      const answer = await fetch(service.url + path, { method, headers, ...(body === '' ? {} : { body }) })
      return reply(response, answer.status, await answer.json())
    })
    const file = fileOf(here, { apps: ['first', 'second', 'third'].map((code) => ({ code, name: code })) })
    const broken = await authctl(`apply -f ${file} --json --base-url ${middle.url}`, { env })
    expect(broken.exit).toBe(7)
    expect(parsed(broken)).toMatchObject({
      changed: 1,
      failed: 1,
      not_tried: 1,
      changes: [
        { code: 'first', outcome: 'created' },
        { code: 'second', outcome: 'failed', error: { code: 'unavailable' } },
        { code: 'third', outcome: 'not_tried' },
      ],
    })
    expect(errorOf(broken)).toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('1 changed before that'),
      hint: expect.stringContaining('run apply again'),
    })
    const again = await authctl(`apply -f ${file} --json`, { env: { ...env, AUTHCTL_BASE_URL: service.url } })
    expect(parsed(again)).toMatchObject({ changed: 2, unchanged: 1, failed: 0 })
  })

  test('Ctrl-C in the middle exits with 130 and reports the applied changes', async () => {
    const here = await signedIn()
    const token = here.readContexts().contexts.default!.tokens!.access_token as string
    let arrived = () => {}
    const waiting = new Promise<void>((resolve) => {
      arrived = resolve
    })
    const middle = await standIn(async ({ method, path, body }, response) => {
      if (path.endsWith('/apps') && method === 'POST' && JSON.parse(body).code === 'never-answered') return arrived()
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      const answer = await fetch(service.url + path, { method, headers, ...(body === '' ? {} : { body }) })
      return reply(response, answer.status, await answer.json())
    })
    const file = fileOf(here, { apps: ['answered', 'never-answered'].map((code) => ({ code, name: code })) })
    const env = { AUTHCTL_TOKEN: token, AUTHCTL_BASE_URL: middle.url }
    const apply = here.terminal(`apply -f ${file}`, { env })
    await waiting
    apply.type('\u0003')
    const { exit, screen } = await apply.ended()
    expect(exit).toBe(130)
    expect(screen).toContain('interrupted; 1 changed before that; it is unknown whether the app never-answered changed')
    expect(screen).toContain('run apply again')
  })

  test('apply continues after a refusal of the service and exits with 8 and the list', async () => {
    const here = await signedIn()
    const { authctl } = here
    await authctl('permission register --service owner -f -', { input: '[{"code": "owned:read", "name": "Owned"}]' })
    const file = fileOf(here, {
      services: [
        { service: 'claimer', permissions: [{ code: 'owned:read', name: 'Claimed' }] },
        { service: 'free', permissions: [{ code: 'free:read', name: 'Free' }] },
      ],
    })
    const { exit, stdout } = await authctl(`apply -f ${file} --json`)
    expect(exit).toBe(8)
    expect(JSON.parse(stdout).changes).toMatchObject([
      { code: 'claimer', outcome: 'failed', error: { code: 'permission_owned_by_other_service' } },
      { code: 'free', outcome: 'created' },
    ])
  })
})

describe('a file with faults', () => {
  test('a file is refused with every fault that needs no service, each with its line', async () => {
    const here = machine()
    const file = fileOf(
      here,
      `apps:
  - code: shop
    nmae: Shop
    status: no
    machine_tokens: sometimes
    webhooks:
      - { name: a, url: "https://a.example.com", has_secret: true }
roles:
  - { code: twice, name: 1 }
  - { code: twice, name: Twice }
services:
  - { service: one, permissions: [{ code: "a:b", name: A }] }
  - { service: two, permissions: [{ code: "a:b", name: A }] }
users: []
`,
    )
    const { exit, stderr, stdout } = await here.authctl(`apply -f ${file} --json`)
    expect({ exit, stdout }).toEqual({ exit: 6, stdout: '' })
    const { code, message, hint } = JSON.parse(stderr).error
    expect(code).toBe('invalid_declaration')
    expect(message).toContain('8 errors; nothing was changed')
    expect(hint.split('\n')).toEqual([
      expect.stringMatching(/^declared\.yaml:2: apps\[0\]\.name is required/),
      'declared.yaml:3: apps[0].nmae is an unknown field',
      expect.stringMatching(/^declared\.yaml:5: apps\[0\]\.machine_tokens must be true or false/),
      'declared.yaml:7: apps[0].webhooks[0].has_secret is an unknown field',
      expect.stringMatching(/^declared\.yaml:9: roles\[0\]\.name must be text/),
      'declared.yaml:10: roles[1] repeats twice',
      'declared.yaml:13: services[1].permissions has a:b, which belongs to one',
      'declared.yaml:14: users is an unknown section',
    ])
  })

  test('a file is refused with every fault that the service finds, each at its line, and nothing is written', async () => {
    const here = await signedIn()
    const file = fileOf(
      here,
      `apps:
  - code: Shop
    name: " "
    allowed_redirect_urls:
      - https://fine.example.com/*
      - ftp://x
    sign_up: sometimes
  - code: fine
    name: Fine
    read_namespaces: [a, a, "A b"]
    webhooks:
      - { name: w, url: "https://a.example.com" }
      - { name: w, url: "https://u:p@a.example.com", secret: short }
  - { code: also-fine, name: Fine, frontend_url: "https://fine.example.com/", default_role_code: made-here, override_role_codes: [made-here] }
  - { code: authctl, name: Mine }
roles:
  - { code: made-here, name: Made, scope: org, permissions: ["a:b"] }
  - { code: global, name: G, assignable_by: org_admin }
  - { code: super_admin, name: All, permissions: ["users:read_self"] }
services:
  - { service: core, permissions: [{ code: "core:x", name: X }] }
  - service: one
    permissions:
      - { code: "b", name: B }
      - { code: "a:b", name: A }
`,
    )
    for (const command of ['apply', 'diff', 'apply --dry-run']) {
      const { exit, stderr, stdout } = await here.authctl(`${command} -f ${file} --json`)
      expect({ exit, stdout }).toEqual({ exit: 6, stdout: '' })
      expect(JSON.parse(stderr).error.hint.split('\n')).toEqual([
        expect.stringMatching(/^declared\.yaml:2: apps\[0\]\.code must be kebab-case/),
        expect.stringMatching(/^declared\.yaml:3: apps\[0\]\.name must have/),
        expect.stringMatching(/^declared\.yaml:6: apps\[0\]\.allowed_redirect_urls\[1\] must be/),
        'declared.yaml:7: apps[0].sign_up must be one of open, invitation, closed',
        expect.stringMatching(/^declared\.yaml:10: apps\[1\]\.read_namespaces\[2\] must contain only/),
        'declared.yaml:13: apps[1].webhooks[1].url must not contain user info',
        expect.stringMatching(/^declared\.yaml:13: apps\[1\]\.webhooks\[1\]\.secret must be whsec_/),
        'declared.yaml:15: apps[3] Another app has the code authctl',
        'declared.yaml:18: roles[1].assignable_by must be system_admin for a global role',
        'declared.yaml:19: roles[2] super_admin holds every permission',
        'declared.yaml:21: services[0] The service core is built in',
        expect.stringMatching(/^declared\.yaml:24: services\[1\]\.permissions\[0\]\.code must be resource:action/),
      ])
    }
    expect((await here.authctl('app show fine')).exit).toBe(3)
    expect((await here.authctl('role show made-here')).exit).toBe(3)
  })

  test.each([
    ['', 'the file must have at least one of services, roles, apps'],
    ['apps: [}', 'faulty.yaml:1: '],
    ['apps:\n  - code: a\n    code: b\n', 'faulty.yaml:3: '],
    ['apps: 7', 'apps must be a list'],
    ['apps: [shop]', 'apps[0] must have the fields code, name'],
    ['apps: [*nowhere]', 'faulty.yaml:1: '],
    ['apps: []\n---\napps: []\n', 'faulty.yaml:'],
    ['__proto__: []', '__proto__ is an unknown section'],
    ['roles: [{code: a, name: A, __proto__: {scope: org}}]', '__proto__ is an unknown field'],
    ['apps: [{code: a, name: A, service_codes: [&a [*a]]}]', 'faulty.yaml:1: '],
    ['apps: [{code: a, name: !vault A}]', 'faulty.yaml:1: Unresolved tag: !vault'],
    ['apps: !!js/function "() => 1"', 'Unresolved tag'],
    ['%WRONG 1\n---\napps: []\n', 'faulty.yaml:1: '],
    ['apps: [{code: a, name: A, ? [code] : b}]', '[ code ] is an unknown field'],
    ['apps: [{code: a, name: A, <<: {status: inactive}}]', '<< is an unknown field'],
    ['%YAML 1.1\n---\napps: [{code: a, name: yes}]\n', 'must be text'],
    [bomb, 'resource exhaustion'],
  ])('the declaration %j is refused with exit 6', async (content, told) => {
    await expect(parseDeclaration(content, 'faulty.yaml')).rejects.toMatchObject({ exit: 6, hint: expect.stringContaining(told) })
  })

  test.each([
    ['deeply nested', `apps: ${'['.repeat(5_000)}`, 'faulty.yaml:1: '],
    ['larger than 5 MiB', `apps: [{code: a, name: A}] #${'x'.repeat(6e6)}`, 'more than 5 MiB'],
  ])('a declaration that is %s is refused with exit 6', async (_, content, told) => {
    await expect(parseDeclaration(content, 'faulty.yaml')).rejects.toMatchObject({ exit: 6, hint: expect.stringContaining(told) })
  })

  test('a file with 20,000 errors shows the first hundred', async () => {
    const fields = Array.from({ length: 20_000 }, (_, index) => `    f${index}: 1\n`).join('')
    const parsing = parseDeclaration(`apps:\n  - code: a\n    name: A\n${fields}`, 'faulty.yaml')
    const { message, hint } = await parsing.then(
      () => expect.unreachable(),
      (error) => error,
    )
    expect(message).toContain('20000 errors')
    const lines = hint.split('\n')
    expect(lines).toHaveLength(101)
    expect([lines[0], lines[100]]).toEqual(['faulty.yaml:4: apps[0].f0 is an unknown field', 'and 19900 more'])
  })

  test('an error shows no character that moves the cursor or hides text', async () => {
    const here = machine()
    const file = fileOf(here, 'apps:\n  - code: a\n    name: A\n    "\\e[2Jf\\u202e": 1\n    "a\\nb": 1\n')
    const { stderr } = await here.authctl(`apply -f ${file}`)
    expect(stderr).toContain(String.raw`apps[0].\u001b[2Jf\u202e is an unknown field`)
    for (const character of ['\x1b', '\u202e']) expect(stderr).not.toContain(character)
  })

  test('a file with unknown references is refused, each is named, and nothing is written', async () => {
    const here = await signedIn()
    const { authctl } = here
    const file = fileOf(
      here,
      `roles:
  - { code: dangling, name: D, permissions: ["no:such", "none:either"] }
  - { code: org_admin, name: Organization admin }
apps:
  - { code: dangling, name: D, default_organization_slug: nowhere }
  - { code: dangling-too, name: D, override_role_codes: [org_member, dangling, unheard-of] }
`,
    )
    const { exit, stderr } = await authctl(`apply -f ${file} --json`)
    expect(exit).toBe(6)
    expect(JSON.parse(stderr).error.hint.split('\n')).toEqual([
      'declared.yaml:2: roles[0].permissions names unknown permissions: no:such, none:either',
      'declared.yaml:3: roles[1].scope cannot be changed: org_admin is org',
      'declared.yaml:5: apps[0].default_organization_slug names an unknown organization: nowhere',
      'declared.yaml:6: apps[1].override_role_codes[1] must be an org-scoped role, and dangling is global',
      'declared.yaml:6: apps[1].override_role_codes[2] names an unknown role: unheard-of',
    ])
    expect((await authctl('role show dangling')).exit).toBe(3)
  })

  test('a missing file exits with 6, a missing -f with 2, and a missing sign-in with 4', async () => {
    const here = machine()
    expect((await here.authctl('apply -f nowhere.yaml')).exit).toBe(6)
    expect((await here.authctl('apply')).exit).toBe(2)
    expect((await here.authctl('diff')).exit).toBe(2)
    expect((await here.authctl(`apply -f ${fileOf(here, 'apps: []')} --base-url ${service.url}`)).exit).toBe(4)
    expect((await here.authctl('export')).exit).toBe(4)
  })
})

describe('export', () => {
  test('export writes YAML or JSON to a pipe, a terminal or a file, and apply accepts it', async () => {
    const here = await signedIn()
    const { authctl, terminal, folder } = here
    const { stdout: yaml } = await authctl('export')
    expect(yaml).toMatch(/^# .*\n\nservices:/)
    const onTerminal = await terminal('export').ended()
    expect(onTerminal.screen).toBe(yaml)
    const { stdout: json } = await authctl('export --json')
    expect(parsed(await authctl('apply -f - --json', { input: json })).changed).toBe(0)
    const written = await authctl('export -f written.yaml')
    expect(written).toMatchObject({ exit: 0, stdout: '' })
    expect(written.stderr).toMatch(/^written\.yaml: \d+ services, \d+ roles, \d+ apps; written\n$/)
    expect(readFileSync(join(folder, 'written.yaml'), 'utf8')).toBe(yaml)
    expect(parsed(await authctl('export -f written.yaml --json'))).toMatchObject({ outcome: 'unchanged' })
    expect((await authctl('export -f no/such/folder.yaml')).exit).toBe(6)
  })

  test('export contains no character that hides or moves text, and apply restores such text', async () => {
    const here = await signedIn()
    const { authctl } = here
    const description = 'a\u001b]0;owned\u0007\u202ebcod\u2028 \u{e0041} "quoted"\nsecond line\ttab'
    const name = '\u200bZero'
    expect((await authctl(`apply -f ${fileOf(here, { apps: [{ code: 'hidden', name, description }] })}`)).exit).toBe(0)
    const { stdout } = await authctl('export')
    expect(stdout.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
    await authctl('app update hidden --name other --description other')
    expect((await authctl(`apply -f ${fileOf(here, stdout)}`)).exit).toBe(0)
    expect(parsed(await authctl('app show hidden --json'))).toMatchObject({ name, description })
  })
})

test('the commands and the file of docs/administer/declarative.md work as printed', async () => {
  const here = await signedIn()
  const guide = readFileSync(new URL('../../docs/administer/declarative.md', import.meta.url), 'utf8')
  const blockOf = (language: string) => new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``).exec(guide)![1]!
  for (const line of blockOf('sh').trimEnd().split('\n')) {
    const { exit } = await here.authctl(line.replace(/^authctl /, ''))
    expect({ line, exit }).toEqual({ line, exit: 0 })
  }
  await here.authctl('org create acme --name Acme')
  const file = fileOf(here, blockOf('yaml'))
  expect((await here.authctl(`apply -f ${file}`)).exit).toBe(0)
  expect((await here.authctl('export')).stdout).toContain(blockOf('yaml').slice(blockOf('yaml').indexOf('apps:\n') + 6))
})
