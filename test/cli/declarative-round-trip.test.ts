import { PassThrough, Readable } from 'node:stream'
import { text as readAll } from 'node:stream/consumers'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseDeclaration } from '../../packages/cli/src/declarations/parse-declaration.ts'
import { plainDeclaration, renderDeclaration } from '../../packages/cli/src/declarations/render-declaration.ts'
import { main } from '../../packages/cli/src/main.ts'
import { exchangeHttp } from '../../packages/cli/src/network/exchange-http.ts'
import { buildPng } from '../support/images.ts'
import { samples } from '../support/lane.ts'
import { admin, type Gatehouse, startGatehouse } from './sandbox.ts'

const seed = 20_261_121

const storable = (text: string) => !/\0|\p{Cs}/u.test(text)
const anyText = fc.string({ unit: 'binary', minLength: 1, maxLength: 60 }).filter(storable)
const name = fc
  .oneof(
    anyText,
    fc.constantFrom('yes', 'null', '~', '1e3', '2026-01-31', '- a', '# b', 'a: b', "'", '"', '@x', '%y', '&z', '*w'),
  )
  .map((text) => text.trim())
  .filter((text) => text !== '')
const words = ['alpha', 'beta', 'gamma', 'delta', 'epsilon', 'on', 'null', '1e3', '007']
const word = fc.constantFrom(...words)
const orNull = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null })
const sortedSet = (value: fc.Arbitrary<string>) => fc.uniqueArray(value, { maxLength: 6 }).map((list) => [...list].sort())
const permission = fc.tuple(word, word).map(([resource, action]) => `${resource}:${action}`)

const services = fc
  .uniqueArray(fc.record({ code: permission, name, service: word }), { selector: ({ code }) => code, maxLength: 12 })
  .map((permissions) =>
    [...new Set(permissions.map(({ service }) => service))].sort().map((service) => ({
      service,
      permissions: permissions
        .filter((one) => one.service === service)
        .map(({ code, name }) => ({ code, name }))
        .sort((one, other) => (one.code < other.code ? -1 : 1)),
    })),
  )

const logoUrl = (width: number, height: number) => `data:image/png;base64,${buildPng(width, height).toString('base64')}`

const role = (code: fc.Arbitrary<string>, known: string[]) =>
  fc
    .record({
      code,
      name,
      description: orNull(anyText),
      assignable_by: fc.constantFrom('system_admin' as const, 'org_admin' as const),
      permissions: known.length === 0 ? fc.constant([]) : sortedSet(fc.constantFrom(...known)),
    })
    // The scope of an existing role cannot be changed, so it depends on the code.
    .map((one) => {
      const isOrg = words.indexOf(one.code) % 2 === 0
      return isOrg
        ? { ...one, scope: 'org' as const }
        : { ...one, scope: 'global' as const, assignable_by: 'system_admin' as const }
    })

const webhook = fc.record({
  name,
  url: fc.webUrl({ validSchemes: ['http', 'https'] }),
  events: fc.constant(['user.registered' as const]),
  enabled: fc.boolean(),
})

const app = (slugs: string[], orgRoles: string[]) =>
  fc
    .record({
      code: word,
      name,
      description: orNull(anyText),
      status: fc.constantFrom('active' as const, 'inactive' as const),
      sign_up: fc.constantFrom('open' as const, 'invitation' as const, 'closed' as const),
      organization_sign_up: fc.boolean(),
      single_sign_on: fc.boolean(),
      max_sign_in_age_seconds: orNull(fc.integer({ min: 60, max: 86_400 })),
      trust_device_days: fc.integer({ min: 0, max: 30 }),
      device_grant: fc.boolean(),
      client: fc.constantFrom('public' as const, 'confidential' as const),
      require_two_factor: fc.constantFrom('off' as const, 'admins' as const, 'everyone' as const),
      require_two_factor_from: orNull(fc.constant('2027-01-31T00:00:00.000Z')),
      require_verified_email: fc.boolean(),
      brand: fc.record({
        accent_color: orNull(fc.constantFrom('#2f6fde', '#c2410c')),
        support_email: orNull(fc.constant('help@shop.example.com')),
        support_url: orNull(fc.constant('https://shop.example.com/help')),
        terms_url: orNull(fc.constant('https://shop.example.com/terms')),
        privacy_url: orNull(fc.constant('https://shop.example.com/privacy')),
        from_name: orNull(fc.constantFrom('Shop', 'Café Zürich & Söhne')),
        default_language: orNull(fc.constantFrom('en', 'de')),
      }),
      logo: orNull(fc.constantFrom(logoUrl(8, 8), logoUrl(40, 20))),
      machine_tokens: fc.boolean(),
      auto_grant_on_signup: fc.boolean(),
      allowed_redirect_urls: fc.array(
        fc.constantFrom('https://a.example.com/*', 'com.example.app:/cb', 'http://127.0.0.1:5173/cb'),
        {
          maxLength: 4,
        },
      ),
      frontend_url: orNull(fc.constantFrom('https://a.example.com', 'http://b.example.com/path')),
      registration_namespace: fc.constantFrom('default', 'staff', '1'),
      read_namespaces: fc.uniqueArray(fc.constantFrom('default', 'staff', 'partners', 'no'), { maxLength: 4 }),
      default_organization_slug: orNull(fc.constantFrom(...slugs)),
      default_role_code: fc.constantFrom('org_member', ...orgRoles),
      override_role_codes: fc.uniqueArray(fc.constantFrom('org_member', 'org_admin', ...orgRoles), { maxLength: 3 }),
      linked_app_codes: fc.uniqueArray(word, { maxLength: 3 }),
      service_codes: fc.uniqueArray(word, { maxLength: 3 }),
      permission_scope: fc.constantFrom('services' as const, 'roles' as const),
      auto_grant_follows_policy: fc.boolean(),
      allowed_email_domains: fc.uniqueArray(fc.constantFrom('corp.com', '*.corp.com', 'xn--bcher-kva.example'), { maxLength: 3 }),
      allowed_auth_methods: fc
        .uniqueArray(fc.constantFrom('password', 'magic_link', 'google'), { maxLength: 3 })
        .filter((methods) => String(methods) !== 'magic_link'),
      webhooks: fc.uniqueArray(webhook, { selector: ({ name, url }) => `${name} ${url}`, maxLength: 2 }),
    })
    .map((one) => (one.default_organization_slug === null ? { ...one, default_role_code: null } : one))

const byCode = <T extends { code: string }>(list: T[]) => list.sort((one, other) => (one.code < other.code ? -1 : 1))

/** Services, roles and apps, in the order of an export. */
const declarations = services.chain((services) => {
  const known = ['users:read_self', ...services.flatMap(({ permissions }) => permissions.map(({ code }) => code))]
  const roles = fc.uniqueArray(role(word, known), { selector: ({ code }) => code, maxLength: 5 }).map(byCode)
  return roles.chain((roles) => {
    const orgRoles = roles.filter(({ scope }) => scope === 'org').map(({ code }) => code)
    const apps = fc.uniqueArray(app(['acme', 'null'], orgRoles), { selector: ({ code }) => code, maxLength: 6 }).map(byCode)
    return apps.map((apps) => ({ services, roles, apps }))
  })
})

type Generated = typeof declarations extends fc.Arbitrary<infer Declaration> ? Declaration : never

test('a declaration that is written as YAML or JSON is read back unchanged', async () => {
  await fc.assert(
    fc.asyncProperty(declarations, async (declaration) => {
      const yaml = await renderDeclaration(declaration as never)
      expect(yaml.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
      for (const text of [yaml, JSON.stringify(plainDeclaration(declaration as never))]) {
        const { declaration: read } = await parseDeclaration(text, 'file')
        expect(JSON.parse(JSON.stringify(read))).toEqual(JSON.parse(JSON.stringify(declaration)))
      }
    }),
    { numRuns: samples(100), seed },
  )
})

let left: Gatehouse
let right: Gatehouse
beforeAll(async () => {
  ;[left, right] = await Promise.all([startGatehouse(), startGatehouse()])
})
afterAll(() => Promise.all([left.stop(), right.stop()]))

type Answer = { items: { code: string; built_in: boolean; slug: string; id: string }[]; access_token: string }

/** Signs in as the admin of a service: over HTTP, and with `authctl` in this process, since the test calls it often. */
async function signIn({ url }: Gatehouse) {
  let token = ''
  async function send(method: string, path: string, body?: object, type = 'application/json'): Promise<Answer> {
    const headers = { 'content-type': type, ...(token && { authorization: `Bearer ${token}` }) }
    const response = await fetch(`${url}/api/v1${path}`, {
      method,
      headers,
      body: body instanceof Uint8Array ? new Uint8Array(body) : (JSON.stringify(body) ?? null),
    })
    if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`)
    return (response.status === 204 ? {} : await response.json()) as Answer
  }
  token = (await send('POST', '/auth/login', { ...admin, app_code: 'authctl' })).access_token
  async function authctl(command: string, input = '') {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()]
    const exit = await main(command.split(' '), {
      env: { AUTHCTL_TOKEN: token, AUTHCTL_BASE_URL: url },
      stdin: Readable.from([input]),
      stdout,
      stderr,
      exchange: exchangeHttp,
      now: Date.now,
      sleep: () => Promise.resolve(),
      onInterrupt: () => () => {},
      leave: () => {},
      configFolder: '/no/such/folder',
      openBrowser: undefined,
    })
    stdout.end()
    stderr.end()
    return { exit, stdout: await readAll(stdout), stderr: await readAll(stderr) }
  }
  const ofAdmin = (method: string, path: string, body?: object, type?: string) => send(method, `/admin${path}`, body, type)
  return { send: ofAdmin, authctl }
}

/** Creates the state over HTTP, so that an export is not tested only on what `apply` made. */
async function make(send: Awaited<ReturnType<typeof signIn>>['send'], { services, roles, apps }: Generated) {
  for (const { code, built_in } of (await send('GET', '/apps?limit=200')).items)
    if (!built_in) await send('DELETE', `/apps/${code}`)
  for (const { code, built_in } of (await send('GET', '/roles?limit=200')).items)
    if (!built_in) await send('DELETE', `/roles/${code}`)
  for (const service of words) await send('POST', '/permissions/register', { service, permissions: [] })
  for (const { service, permissions } of services) {
    const list = permissions.map(({ code, name }) => {
      const [resource, action] = code.split(':')
      return { code, name, resource, action }
    })
    await send('POST', '/permissions/register', { service, permissions: list })
  }
  for (const { permissions, ...role } of roles) {
    await send('POST', '/roles', role)
    await send('PUT', `/roles/${role.code}/permissions`, { permissions })
  }
  const { items: organizations } = await send('GET', '/organizations')
  for (const { default_organization_slug: slug, logo, ...app } of apps) {
    const id = organizations.find((organization) => organization.slug === slug)?.id ?? null
    await send('POST', '/apps', { ...app, default_organization_id: id })
    if (logo !== null) await send('PUT', `/apps/${app.code}/logo`, Buffer.from(logo.split(',')[1]!, 'base64'), 'image/png')
  }
}

test('another installation that applies an export exports the same bytes', async () => {
  const [here, there] = await Promise.all([signIn(left), signIn(right)])
  for (const { send } of [here, there])
    for (const slug of ['null', 'acme']) await send('POST', '/organizations', { slug, name: slug })
  const generated = fc.sample(declarations, { numRuns: samples(12), seed })
  for (const [turn, declaration] of generated.entries()) {
    await make(here.send, declaration)
    const { stdout: exported } = await here.authctl('export')
    const prune = turn === 0 ? '' : ' --prune --confirm default --yes'
    expect(await there.authctl(`apply -f -${prune}`, exported)).toMatchObject({ exit: 0 })
    expect((await there.authctl('export')).stdout).toBe(exported)
    expect(exported.match(/^ {2}- code/gm)).toHaveLength(7 + declaration.roles.length + declaration.apps.length)
  }
})
