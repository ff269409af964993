// Everything that writes, at once, to the same few users, apps, organizations and roles: no call waits for another one that waits for it.
import { expect, test } from 'vitest'
import { chance } from '../support/chance.ts'
import { addMember, buildOrganization, buildRole } from '../support/factories.ts'
import { buildApp, buildService, buildUser, type Json, PASSWORD, someEmail, somePool, unique } from '../support/service.ts'

type Step = [method: string, path: string, body?: Json, token?: string]

test('many different calls at once on the same few rows do not deadlock', async () => {
  const on = await buildService({
    AUTH_RATE_LIMIT_IP: 'off',
    AUTH_RATE_LIMIT_ACCOUNT: 'off',
    AUTH_LOCKOUT_THRESHOLD: '1000',
  })
  const { next } = chance(20_261_128)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)]!
  for (let round = 0; round < 8; round += 1) {
    const apps = [await buildApp(on, { auto_grant_on_signup: true }), await buildApp(on, { auto_grant_on_signup: true })]
    const organizations = [await buildOrganization(on), await buildOrganization(on)]
    const roles = [await buildRole(on, 'global'), await buildRole(on, 'org')]
    const [globalRole, orgRole] = roles as [string, string]
    const people: Json[] = []
    for (let index = 0; index < 3; index += 1) {
      const email = someEmail()
      const first = await buildUser(on, apps[0]!, { email })
      await on.admin('POST', `/admin/users/${first.user.id}/apps/${apps[1]!.code}`)
      const second = (await on.login(email, apps[1]!.code)).body
      for (const { id } of organizations) await addMember(on, id, first.user.id, ['org_member'])
      people.push({ id: first.user.id, email, entered: [first, second] })
    }
    const toPerson = ({ id, email, entered }: Json): Step[] => [
      ['PATCH', `/admin/users/${id}`, { status: 'suspended' }],
      ['PATCH', `/admin/users/${id}`, { status: 'active' }],
      ['PATCH', `/admin/users/${id}`, { email: someEmail(), first_name: 'Ann' }],
      ['PATCH', `/admin/users/${id}`, { password: PASSWORD }],
      ['DELETE', `/admin/users/${id}`],
      ['POST', `/admin/users/${id}/offboard`, {}],
      ['POST', `/admin/users/${id}/logout`],
      ['PUT', `/admin/users/${id}/namespace`, { namespace: somePool() }],
      ['PATCH', `/admin/users/${id}/namespaces`, { add: [somePool()] }],
      ['POST', `/admin/users/${id}/roles`, { role_code: globalRole }],
      ['DELETE', `/admin/users/${id}/roles/${globalRole}`],
      ['DELETE', `/admin/users/${id}/2fa`],
      ...apps.flatMap((app): Step[] => [
        ['POST', `/admin/users/${id}/apps/${app.code}`],
        ['DELETE', `/admin/users/${id}/apps/${app.code}`],
        ['POST', '/auth/login', { email, password: PASSWORD, app_code: app.code }],
        ['POST', '/auth/login', { email, password: PASSWORD, app_code: app.code }],
      ]),
      ...organizations.flatMap((organization): Step[] => [
        ['PUT', `/admin/organizations/${organization.id}/members/${id}`, { role_codes: [orgRole] }],
        ['PUT', `/admin/organizations/${organization.id}/members/${id}`, { role_codes: ['org_admin'] }],
        ['DELETE', `/admin/organizations/${organization.id}/members/${id}`],
      ]),
      ...entered.flatMap(({ access_token, refresh_token }: Json): Step[] => [
        ['POST', '/auth/refresh', { refresh_token }],
        ['POST', '/auth/refresh', { refresh_token }],
        ['POST', '/auth/logout', { refresh_token }, access_token],
        ['POST', '/auth/logout-all', undefined, access_token],
        ['PATCH', '/auth/me', { first_name: 'Bea' }, access_token],
        ['POST', '/auth/password/change', { current_password: PASSWORD, new_password: PASSWORD }, access_token],
        ['POST', '/auth/2fa/setup', { password: PASSWORD }, access_token],
        ['POST', '/auth/email/change', { email: someEmail(), password: PASSWORD }, access_token],
        ['POST', '/auth/password/forgot', { email, app_code: apps[0]!.code }],
        ['DELETE', '/auth/me', { password: PASSWORD }, access_token],
      ]),
    ]
    const ids = people.map(({ id }) => id)
    const toApp = ({ code }: Json): Step[] => [
      ['PATCH', `/admin/apps/${code}`, { status: 'inactive' }],
      ['PATCH', `/admin/apps/${code}`, { status: 'active' }],
      ['PATCH', `/admin/apps/${code}`, { default_organization_id: pick(organizations).id }],
      ['DELETE', `/admin/apps/${code}?force=true`],
      ['POST', `/admin/apps/${code}/grants`, { users: ids }],
      ['POST', `/admin/apps/${code}/grants/revoke`, { users: ids.toReversed() }],
      ['POST', `/admin/apps/${code}/signing`, { step: 'prepare' }],
      ['POST', `/admin/apps/${code}/client-secrets`, {}],
      ['POST', '/auth/register', { email: someEmail(), password: PASSWORD, app_code: code }],
    ]
    const toOrganization = ({ id }: Json): Step[] => [
      ['PATCH', `/admin/organizations/${id}`, { name: 'Other' }],
      ['DELETE', `/admin/organizations/${id}`],
      ['POST', `/admin/organizations/${id}/invitations`, { role_codes: [orgRole], app_code: pick(apps).code }],
    ]
    const toRole = (code: string): Step[] => [
      ['PATCH', `/admin/roles/${code}`, { name: 'Other' }],
      ['PUT', `/admin/roles/${code}/permissions`, { permissions: [] }],
      ['DELETE', `/admin/roles/${code}`],
    ]
    const rest = (): Step[] => [
      ['POST', '/admin/users/offboard?dry_run=true', { users: ids }],
      ['POST', '/admin/users/offboard?dry_run=true', { users: ids.toReversed() }],
      [
        'POST',
        '/admin/service-accounts',
        { name: unique('robot'), service: 'notes', scopes: ['tokens:introspect'], app_codes: [pick(apps).code] },
      ],
    ]
    const steps = Array.from({ length: 40 }, () => {
      const kind = next()
      if (kind < 0.6) return pick(toPerson(pick(people)))
      if (kind < 0.85) return pick(toApp(pick(apps)))
      if (kind < 0.92) return pick(toOrganization(pick(organizations)))
      return kind < 0.97 ? pick(toRole(pick(roles))) : pick(rest())
    })
    const replies = await Promise.all(
      steps.map(([method, path, body, token]) =>
        token ? on.call(method, path, { body, token }) : on.admin(method, path, { body }),
      ),
    )
    // A call that loses its app, user or role in the middle is told to come again, which says nothing about locks.
    expect(
      on.logged.filter((line) => line.includes('deadlock')),
      JSON.stringify(steps.map((step, index) => [...step.slice(0, 3), replies[index]!.status])),
    ).toEqual([])
  }
})
