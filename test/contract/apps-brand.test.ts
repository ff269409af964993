// What the pages and mails of an app show of it: colors, links, the sender, and its logo.
import { describe, expect, test } from 'vitest'
import { expectError, faultsOf } from '../support/expect-reply.ts'
import { appFixture, serviceFixture } from '../support/fixtures.ts'
import { buildJpeg, buildPng, buildWebp } from '../support/images.ts'
import { buildApp, buildService, type Json } from '../support/service.ts'
import { askFor, visit } from '../support/sign-in-page.ts'
import { traceStatements } from '../support/trace-statements.ts'

const service = serviceFixture()
const app = appFixture(service, { allowed_redirect_urls: ['https://shop.example.com/cb'], auto_grant_on_signup: true })

const patch = (brand: Json, code: string = app.code) => service.admin('PATCH', `/admin/apps/${code}`, { body: { brand } })
const logoOf = (code: string) => `/admin/apps/${code}/logo`
const put = (code: string, body: Buffer, type = 'image/png', at = service) =>
  at.admin('PUT', logoOf(code), { body, headers: { 'content-type': type } })
const eventsOf = async ({ id }: Json) =>
  (await service.admin('GET', `/admin/audit?event=app.logo_changed&app_id=${id}`)).body.items.map(({ details }: Json) => details)

describe('the brand of an app', () => {
  test('a change keeps the members that it does not name, and clears those that are null or empty', async () => {
    const shop = await buildApp(service, { brand: { accent_color: '#2F6FDE', from_name: ' Shop ' } })
    expect(shop.brand).toMatchObject({ accent_color: '#2f6fde', from_name: 'Shop', support_email: null })
    const { body } = await patch({ support_email: 'Help@Shop.example.com', from_name: '' }, shop.code)
    expect(body.brand).toMatchObject({ accent_color: '#2f6fde', from_name: null, support_email: 'help@shop.example.com' })
    expect((await patch({ accent_color: null }, shop.code)).body.brand.accent_color).toBeNull()
  })

  test.each([
    ['accent_color', 'blue', 'brand.accent_color: invalid_value'],
    ['accent_color', '#12345', 'brand.accent_color: invalid_value'],
    ['accent_color', '#000080', 'brand.accent_color: invalid_value'],
    ['accent_color', '#ffee99', 'brand.accent_color: invalid_value'],
    ['support_email', 'nobody', 'brand.support_email: invalid_value'],
    ['support_url', 'http://shop.example.com', 'brand.support_url: invalid_value'],
    ['support_url', 'https://shop.example.com/\u202Egpj', 'brand.support_url: invalid_value'],
    ['terms_url', 'javascript:alert(1)', 'brand.terms_url: invalid_value'],
    ['privacy_url', 'https://me:secret@shop.example.com', 'brand.privacy_url: invalid_value'],
    ['from_name', 'Sh\u202Eop', 'brand.from_name: invalid_value'],
    ['from_name', 'Shop\u0007', 'brand.from_name: invalid_value'],
    ['from_name', 'Shop <me@example.com>', 'brand.from_name: invalid_value'],
    ['from_name', '=?utf-8?q?Bank?=', 'brand.from_name: invalid_value'],
    ['from_name', 'x'.repeat(81), 'brand.from_name: too_long'],
    ['default_language', 'nl', 'brand.default_language: invalid_value'],
    ['color', '#2f6fde', 'brand.color: unknown_field'],
  ])('a brand with %s %j is 400, names the member and changes nothing', async (member, value, fault) => {
    const before = (await service.admin('GET', `/admin/apps/${app.code}`)).body
    const reply = await patch({ support_url: 'https://shop.example.com/help', [member]: value })
    expectError(reply, 'validation_failed')
    expect(faultsOf(reply)).toEqual([fault])
    expect((await service.admin('GET', `/admin/apps/${app.code}`)).body).toEqual(before)
  })

  test('a color that is hard to see on a card is refused with the nearest visible one', async () => {
    const { body } = await patch({ accent_color: '#000080' })
    const [, nearest] = /nearest color that does is (#\w+)/.exec(body.errors[0].message) ?? []
    expect((await patch({ accent_color: nearest })).body.brand.accent_color).toBe(nearest)
  })
})

describe('the logo of an app', () => {
  test.each([
    ['image/png', buildPng(40, 20)],
    ['image/jpeg', buildJpeg(1_024, 300)],
    ['image/webp', buildWebp('VP8X', 1_024, 1_024)],
  ])('a logo of type %s is served unchanged, with a type taken from its content, and may run nothing', async (type, image) => {
    const shop = await buildApp(service)
    const { status, body } = await put(shop.code, image, 'image/png')
    expect(status).toBe(200)
    expect(body).toEqual({ ...shop, logo_path: expect.stringMatching(/^\/logos\/[0-9a-f]{64}$/), updated_at: expect.any(String) })
    const served = await fetch(service.url + body.logo_path)
    expect(Buffer.from(await served.arrayBuffer())).toEqual(image)
    expect(Object.fromEntries(served.headers)).toMatchObject({
      'content-type': type,
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
      'cache-control': 'public, max-age=31536000, immutable',
    })
    expect((await service.admin('GET', logoOf(shop.code))).status).toBe(200)
  })

  test('a changed logo has another address, both changes are audited, and the same image again changes nothing', async () => {
    const shop = await buildApp(service)
    const first = (await put(shop.code, buildPng(8, 8))).body
    expect((await put(shop.code, buildPng(8, 8))).body).toEqual(first)
    const second = (await put(shop.code, buildPng(9, 9))).body
    expect(second.logo_path).not.toBe(first.logo_path)
    expect((await fetch(service.url + first.logo_path)).status).toBe(404)
    for (let time = 0; time < 2; time += 1) expect((await service.admin('DELETE', logoOf(shop.code))).status).toBe(204)
    expect((await service.admin('GET', `/admin/apps/${shop.code}`)).body.logo_path).toBeNull()
    expectError(await service.admin('GET', logoOf(shop.code)), 'not_found')
    expect((await eventsOf(shop)).reverse()).toEqual([
      { before: { logo_path: null }, after: { logo_path: first.logo_path } },
      { before: { logo_path: first.logo_path }, after: { logo_path: second.logo_path } },
      { before: { logo_path: second.logo_path }, after: { logo_path: null } },
    ])
  })

  test('all readers of a logo cause one database read until it is replaced', async () => {
    const own = await buildService({ DB_POOL_MAX: '1' })
    const shop = await buildApp(own)
    const { logo_path } = (await put(shop.code, buildPng(8, 8), 'image/png', own)).body
    const statements = await traceStatements(own)
    const look = async () => (await fetch(own.url + logo_path)).status
    expect(await Promise.all(Array.from({ length: 20 }, look))).toEqual(Array(20).fill(200))
    expect(statements.filter((each) => each.includes('app_logos'))).toHaveLength(1)
    expect((await put(shop.code, buildPng(9, 9), 'image/png', own)).status).toBe(200)
    expect(await Promise.all(Array.from({ length: 20 }, look))).toEqual(Array(20).fill(404))
  })

  test('two apps may have the same logo, and one keeps it when the other is deleted', async () => {
    const [one, other] = [await buildApp(service), await buildApp(service)]
    for (const { code } of [one, other]) await put(code, buildPng(12, 12))
    const { logo_path } = (await service.admin('GET', `/admin/apps/${other.code}`)).body
    expect((await service.admin('DELETE', `/admin/apps/${one.code}`)).status).toBe(204)
    expect((await fetch(service.url + logo_path)).status).toBe(200)
  })

  test('a file that is not an image or has too many pixels or bytes is refused, and nothing is written', async () => {
    const shop = await buildApp(service)
    const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>')
    for (const image of [svg, Buffer.alloc(0), Buffer.from('GIF89a'), buildPng(1_025, 4), buildJpeg(4, 1_025)]) {
      const reply = await put(shop.code, image)
      expectError(reply, 'validation_failed')
      expect(faultsOf(reply)[0]).toMatch(/^logo: /)
    }
    expectError(await put(shop.code, Buffer.concat([buildPng(4, 4), Buffer.alloc(256 * 1024)])), 'payload_too_large')
    expectError(await put(shop.code, buildPng(4, 4), 'application/json'), 'unsupported_media_type')
    expectError(await put(shop.code, buildPng(4, 4), 'image/svg+xml'), 'unsupported_media_type')
    const packed = { 'content-type': 'image/png', 'content-encoding': 'gzip' }
    const compressed = await service.admin('PUT', logoOf(shop.code), { body: buildPng(4, 4), headers: packed })
    expectError(compressed, 'unsupported_media_type')
    expectError(await put('nobody', buildPng(4, 4)), 'not_found')
    expect((await service.admin('GET', `/admin/apps/${shop.code}`)).body).toEqual(shop)
    expect(await eventsOf(shop)).toEqual([])
  })

  test('a dry run checks the logo and stores nothing', async () => {
    const shop = await buildApp(service)
    const headers = { 'content-type': 'image/png' }
    const reply = await service.admin('PUT', `${logoOf(shop.code)}?dry_run=true`, { body: buildPng(4, 4), headers })
    expect(reply.status).toBe(200)
    expect((await fetch(service.url + reply.body.logo_path)).status).toBe(404)
    expect((await service.admin('GET', `/admin/apps/${shop.code}`)).body).toEqual(shop)
  })
})

describe('the pages of an app with a brand', () => {
  test('the pages show the logo, the color and the links for help under a policy that allows no more', async () => {
    const shop = await buildApp(service, {
      name: 'Café Zürich & Söhne',
      allowed_redirect_urls: ['https://shop.example.com/cb'],
      brand: {
        accent_color: '#c2410c',
        support_email: 'help@shop.example.com',
        terms_url: 'https://shop.example.com/terms?a=1&b=2',
        privacy_url: 'https://shop.example.com/privacy',
      },
    })
    const { logo_path } = (await put(shop.code, buildPng(40, 20))).body
    const { html, headers } = await visit(service).get(askFor(shop).path)
    expect(html).toContain(`<img class="logo" src="${logo_path}" alt="">`)
    expect(html).toContain('--accent: #c2410c; --on-accent: #ffffff;')
    for (const link of [
      'mailto:help@shop.example.com',
      'https://shop.example.com/terms?a=1&amp;b=2',
      'https://shop.example.com/privacy',
    ])
      expect(html.replaceAll('&#38;', '&amp;')).toContain(`<a href="${link}">`)
    expect(headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'sha256-[\w+/]{43}=' 'sha256-[\w+/]{43}='; img-src 'self'; form-action /,
    )
  })

  test('the help link leads to one address, whatever characters the address has', async () => {
    const shop = await buildApp(service, {
      allowed_redirect_urls: ['https://shop.example.com/cb'],
      brand: { support_email: 'help?bcc=everybody&body=x@shop.example.com' },
    })
    const { html } = await visit(service).get(askFor(shop).path)
    const [, link = ''] = /href="(mailto:[^"]*)"/.exec(html) ?? []
    expect(link.replaceAll('&#61;', '=').replaceAll('&#38;', '&')).toBe(
      'mailto:help%3Fbcc%3Deverybody%26body%3Dx@shop.example.com',
    )
  })

  test('the pages of an app without a brand load no image', async () => {
    const { html, headers } = await visit(service).get(askFor(app).path)
    expect(html).not.toContain('<img')
    expect(headers.get('content-security-policy')).not.toContain('img-src')
  })
})
