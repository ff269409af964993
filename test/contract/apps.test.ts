import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { expectError, expectHeaders } from '../support/expect-reply.ts'
import { buildOrganization } from '../support/factories.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { buildApp, buildUser, type Json, PASSWORD } from '../support/service.ts'

const service = serviceFixture()

/** Every item of a list, page by page. */
async function readPages(path: string, between: (page: number) => Promise<unknown> = async () => {}): Promise<Json[]> {
  const items: Json[] = []
  let cursor: string | null = null
  let page = 0
  do {
    const reply: Json = await service.admin('GET', `${path}${cursor === null ? '' : `&cursor=${cursor}`}`)
    expect(reply.status).toBe(200)
    items.push(...reply.body.items)
    cursor = reply.body.next_cursor
    await between(page)
    page += 1
  } while (cursor !== null)
  return items
}

function codesOf(items: Json[]): string[] {
  return items.map((item) => item.code)
}

describe('reading an app', () => {
  test('an app is named by its lowercase UUID or by its code', async () => {
    const app = await buildApp(service)
    for (const ref of [app.id, app.code]) {
      const reply = await service.admin('GET', `/admin/apps/${ref}`)
      expect(reply.status).toBe(200)
      expectHeaders(reply)
      expect(reply.body).toEqual(app)
    }
  })

  test.each([
    'no-such-app',
    randomUUID(),
    'APP',
    'a_b',
    'a%20b',
    '%00',
    '%',
    '*',
    '%25',
    "x'--",
    'x'.repeat(101),
    'null',
    '__proto__',
    'constructor',
  ])('an app named %s is 404', async (ref) => {
    expectError(await service.admin('GET', `/admin/apps/${ref}`), 'not_found')
  })

  test('authctl exists from the start: built in, without auto-grant, closed to sign-up', async () => {
    const { body } = await service.admin('GET', '/admin/apps/authctl')
    expect(body).toMatchObject({
      code: 'authctl',
      built_in: true,
      status: 'active',
      auto_grant_on_signup: false,
      sign_up: 'closed',
      service_codes: [],
    })
    for (const app of [body, await buildApp(service)]) {
      expect(app.built_in).toBe(app.code === 'authctl')
    }
  })
})

describe('the list of apps', () => {
  test('the pages list whole records, newest first, and lose and repeat none while apps are created and deleted', async () => {
    const made: string[] = []
    const doomed = await buildApp(service, { description: 'paged' })
    for (let index = 0; index < 120; index += 1) made.unshift((await buildApp(service, { description: 'paged' })).code)
    const items = await readPages('/admin/apps?limit=7', async (page) => {
      if (page === 3) await buildApp(service, { description: 'made while paging' })
      if (page === 5) await service.admin('DELETE', `/admin/apps/${doomed.code}`)
    })
    const paged = items.filter((app) => app.description === 'paged')
    expect(codesOf(paged).filter((code) => code !== doomed.code)).toEqual(made)
    expect(new Set(codesOf(items)).size).toBe(items.length)
    expect(items.some((app) => app.description === 'made while paging')).toBe(false)
    expect(items.at(-1).code).toBe('authctl')
    expect(paged[0]).toEqual((await service.admin('GET', `/admin/apps/${made[0]}`)).body)
  })

  test('a page has 50 apps by default, and the last page has no cursor', async () => {
    const first = (await service.admin('GET', '/admin/apps')).body
    expect(first.items).toHaveLength(50)
    expect(first.next_cursor).toEqual(expect.any(String))
    const all = (await service.admin('GET', '/admin/apps?limit=200')).body
    expect(all.items.length).toBeGreaterThan(120)
    expect(all.next_cursor).toBeNull()
    const exact = (await service.admin('GET', `/admin/apps?limit=${all.items.length}`)).body
    expect(exact.next_cursor).toBeNull()
  })

  test('the status filter returns only apps with that status', async () => {
    const inactive = await buildApp(service, { status: 'inactive' })
    expect(codesOf((await service.admin('GET', '/admin/apps?status=inactive')).body.items)).toEqual([inactive.code])
    const active = await readPages('/admin/apps?status=active&limit=200')
    expect(codesOf(active)).not.toContain(inactive.code)
    expect(active.every((app) => app.status === 'active')).toBe(true)
    for (const status of ['deleted', '', 'ACTIVE', 'active,inactive'])
      expectError(await service.admin('GET', `/admin/apps?status=${status}`), 'validation_failed')
  })

  describe('the text filter', () => {
    const names = [
      '100% Müller',
      '100 percent',
      'a_b',
      'axb',
      'back\\slash',
      'backslash',
      'quote\'s "x"',
      'ÄRGER',
      'ärger',
      'İstanbul',
      'MiXeD',
      '[a-z]',
      '.*',
      '?',
      '$1',
    ]
    let codes: Map<string, string>
    beforeAll(async () => {
      codes = new Map()
      for (const [index, name] of names.entries()) {
        const code = `q-${index}-end`
        await service.admin('POST', '/admin/apps', { body: { code, name } })
        codes.set(name, code)
      }
    })

    test.each([
      ['%', ['100% Müller']],
      ['100%', ['100% Müller']],
      ['_', ['a_b']],
      ['a_b', ['a_b']],
      ['\\', ['back\\slash']],
      ['k\\s', ['back\\slash']],
      ["'", ['quote\'s "x"']],
      ['"X"', ['quote\'s "x"']],
      ['müller', ['100% Müller']],
      // Only ASCII letters match regardless of case.
      ['MÜLLER', []],
      ['ärger', ['ärger']],
      ['Ärger', ['ÄRGER']],
      ['ÄRGER', ['ÄRGER']],
      ['i\u0307stanbul', []],
      ['İSTANBUL', ['İstanbul']],
      ['mixed', ['MiXeD']],
      ['MIXED', ['MiXeD']],
      ['[a-z]', ['[a-z]']],
      ['.*', ['.*']],
      ['?', ['?']],
      ['$1', ['$1']],
      ['%%', []],
      ['100 Percent', ['100 percent']],
      ['q-1-END', ['100 percent']],
      ['no app has this', []],
    ])('the text %j is matched literally', async (q, found) => {
      const { status, body } = await service.admin('GET', `/admin/apps?limit=200&q=${encodeURIComponent(q)}`)
      expect(status).toBe(200)
      expect(codesOf(body.items)).toEqual(found.map((name) => codes.get(name)).reverse())
    })

    test('the text is found in code and name, together with the status, in pages', async () => {
      expect(codesOf(await readPages('/admin/apps?limit=2&q=q-'))).toEqual([...codes.values()].reverse())
      expect((await service.admin('GET', '/admin/apps?q=q-&status=inactive')).body).toEqual({ items: [], next_cursor: null })
    })

    test('an empty text filters nothing, and 201 characters are too many', async () => {
      expect((await service.admin('GET', '/admin/apps?q=')).body.items).toHaveLength(50)
      expect((await service.admin('GET', `/admin/apps?q=${'x'.repeat(200)}`)).body.items).toEqual([])
      expectError(await service.admin('GET', `/admin/apps?q=${'x'.repeat(201)}`), 'validation_failed')
    })
  })
})

describe('deleting an app', () => {
  test('an app without grants is deleted at once, and its code is unknown from then on', async () => {
    const app = await buildApp(service)
    const reply = await service.admin('DELETE', `/admin/apps/${app.code}`)
    expect(reply.status).toBe(204)
    expectHeaders(reply)
    expectError(await service.admin('GET', `/admin/apps/${app.code}`), 'not_found')
    expectError(await service.admin('DELETE', `/admin/apps/${app.id}`), 'not_found')
    expectError(await service.login('x@example.com', app.code), 'app_not_found')
  })

  test('an app with active grants is 409 app_in_use', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const { user } = await buildUser(service, app)
    for (const query of ['', '?force=false'])
      expectError(await service.admin('DELETE', `/admin/apps/${app.code}${query}`), 'app_in_use')
    expect((await service.admin('GET', `/admin/apps/${app.code}`)).body).toEqual(app)
    await service.admin('DELETE', `/admin/users/${user.id}/apps/${app.id}`)
    expect((await service.admin('DELETE', `/admin/apps/${app.code}`)).status).toBe(204)
  })

  test('force removes the grants too, ends every token of the app, and leaves other apps alone', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const other = await buildApp(service, { auto_grant_on_signup: true })
    const { user, access_token: token, refresh_token } = await buildUser(service, app)
    const elsewhere = (await service.login(user.email, other.code)).body
    expect((await service.admin('DELETE', `/admin/apps/${app.id}?force=true`)).status).toBe(204)
    expectError(await service.call('GET', '/auth/me', { token }), 'token_revoked')
    expectError(await service.call('POST', '/auth/refresh', { body: { refresh_token } }), 'invalid_refresh_token')
    expect((await service.call('GET', '/auth/me', { token: elsewhere.access_token })).status).toBe(200)
    expect((await service.call('POST', '/auth/refresh', { body: { refresh_token: elsewhere.refresh_token } })).status).toBe(200)
    const grants = (await service.admin('GET', `/admin/users/${user.id}/apps`)).body.items
    expect(grants.map((grant: Json) => grant.app_code)).toEqual([other.code])
  })

  test('the tokens of a deleted app open nothing in a new app with the same code', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const { access_token: token } = await buildUser(service, app)
    await service.admin('DELETE', `/admin/apps/${app.code}?force=true`)
    await service.admin('POST', '/admin/apps', { body: { code: app.code, name: 'Again', auto_grant_on_signup: true } })
    expectError(await service.call('GET', '/auth/me', { token }), 'token_revoked')
  })

  test('force accepts only true and false', async () => {
    const app = await buildApp(service)
    for (const force of ['1', 'TRUE', 'yes', '', 'true&force=true'])
      expectError(await service.admin('DELETE', `/admin/apps/${app.code}?force=${force}`), 'validation_failed')
    expect((await service.admin('GET', `/admin/apps/${app.code}`)).status).toBe(200)
  })

  test('authctl is 409 built_in, with force too', async () => {
    for (const query of ['', '?force=true']) expectError(await service.admin('DELETE', `/admin/apps/authctl${query}`), 'built_in')
  })

  test('one of ten deletions at once deletes the app, and the others are 404', async () => {
    const app = await buildApp(service)
    const replies = await Promise.all(Array.from({ length: 10 }, () => service.admin('DELETE', `/admin/apps/${app.code}`)))
    expect(replies.map((reply) => reply.status).sort()).toEqual([204, ...Array(9).fill(404)])
  })

  test('a deletion and a grant at the same time leave both app and grant, or neither', async () => {
    const home = await buildApp(service, { auto_grant_on_signup: true })
    const { user } = await buildUser(service, home)
    for (let round = 0; round < 10; round += 1) {
      const app = await buildApp(service)
      const [granted, deleted] = await Promise.all([
        service.admin('POST', `/admin/users/${user.id}/apps/${app.id}`),
        service.admin('DELETE', `/admin/apps/${app.id}`),
      ])
      const left = (await service.admin('GET', `/admin/apps/${app.id}`)).status
      expect([`${granted.status} ${deleted.status} ${left}`]).toEqual([
        deleted.status === 204 ? expect.stringMatching(/^(201|404) 204 404$/) : '201 409 200',
      ])
    }
  })

  test('logins and registrations at the same time succeed, may be repeated, or find no app', async () => {
    for (let round = 0; round < 5; round += 1) {
      const app = await buildApp(service, { auto_grant_on_signup: true })
      const { user } = await buildUser(service, app)
      const replies = await Promise.all([
        ...Array.from({ length: 6 }, () => service.login(user.email, app.code)),
        ...Array.from({ length: 3 }, (_, index) => service.register(`race-${round}-${index}@example.com`, app.code)),
        service.admin('DELETE', `/admin/apps/${app.id}?force=true`),
        service.login(user.email, app.code),
      ])
      for (const { status } of replies) expect([200, 201, 204, 404, 503]).toContain(status)
      expectError(await service.login(user.email, app.code), 'app_not_found')
    }
  })

  test('the deletion is audited with the whole record of the app', async () => {
    const app = await buildApp(service, {
      description: 'Gone soon',
      default_organization_id: (await buildOrganization(service)).id,
    })
    const { headers } = await service.admin('DELETE', `/admin/apps/${app.code}`)
    const [event] = await service.deps.db('audit_events').where({ app_id: app.id, event: 'app.deleted' })
    expect(event.request_id).toBe(headers.get('x-request-id'))
    expect(JSON.parse(event.details)).toEqual({ before: app })
  })
})

describe('the status of an app', () => {
  // covers app-status state-app-inactive
  test('an inactive app accepts no login and no registration until it is active again', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const { user, access_token: token } = await buildUser(service, app)
    await service.admin('PATCH', `/admin/apps/${app.code}`, { body: { status: 'inactive' } })
    expectError(await service.login(user.email, app.code), 'app_inactive')
    expectError(await service.register('new@example.com', app.code), 'app_inactive')
    const change = { current_password: PASSWORD, new_password: 'another good phrase' }
    expectError(await service.call('POST', '/auth/password/change', { token, body: change }), 'token_revoked')
    await service.admin('PATCH', `/admin/apps/${app.code}`, { body: { status: 'active' } })
    expect((await service.login(user.email, app.code)).status).toBe(200)
  })
})
