// Many callers at once who spend invitations: each is spent once, and losers leave no trace.
import { expect, test } from 'vitest'
import { expectError } from '../support/expect-reply.ts'
import { buildInvitation, buildOrganization } from '../support/factories.ts'
import { appFixture, serviceFixture } from '../support/fixtures.ts'
import { countRows, countWrites } from '../support/rows.ts'
import { buildApp, buildUser, type Json, type Reply, someEmail } from '../support/service.ts'

const service = serviceFixture()
/** Grants access to every user. */
const app = appFixture(service)

const invite = ({ id: organizationId }: Json, rest = {}) => buildInvitation(service, { organizationId, ...rest })
const accept = (token: string, bearer: string) =>
  service.call('POST', '/auth/invitations/accept', { body: { token }, token: bearer })

/** Asserts that exactly one of the callers got in, and that the others left no trace. */
async function expectOneWinner(organization: Json, replies: Reply[]): Promise<void> {
  expect(replies.filter((reply) => reply.status < 300)).toHaveLength(1)
  for (const reply of replies) if (reply.status >= 300) expectError(reply, 'invalid_invitation')
  const { items } = (await service.admin('GET', `/admin/organizations/${organization.id}/members`)).body
  expect(items).toHaveLength(1)
  const [invitation] = (await service.admin('GET', `/admin/organizations/${organization.id}/invitations`)).body.items
  expect(invitation).toMatchObject({ status: 'accepted', accepted_by: items[0].id })
}

test('one of thirty users who accept one invitation at once joins', async () => {
  const organization = await buildOrganization(service)
  const users = await Promise.all(Array.from({ length: 30 }, () => buildUser(service, app)))
  const token = await invite(organization)
  await expectOneWinner(organization, await Promise.all(users.map((each) => accept(token, each.access_token))))
})

test('one of the registrations, logins and accepts with one invitation wins, and the others leave no user and no session', async () => {
  for (let round = 0; round < 5; round += 1) {
    const organization = await buildOrganization(service)
    const token = await invite(organization)
    const members = await Promise.all(Array.from({ length: 8 }, () => buildUser(service, app)))
    const emails = Array.from({ length: 4 }, someEmail)
    const before = await countWrites(service)
    const replies = await Promise.all([
      ...emails.map((email) => service.register(email, app.code, { invite_token: token })),
      ...members.slice(0, 4).map((each) => accept(token, each.access_token)),
      ...members
        .slice(4)
        .map((each) => service.register(each.user.email, app.code, { mode: 'register_or_login', invite_token: token })),
    ])
    await expectOneWinner(organization, replies)
    const registered = replies.slice(0, 4).filter((reply) => reply.status === 201).length
    const after = await countWrites(service)
    expect(after.users! - before.users!).toBe(registered)
    const entered = registered + replies.slice(8).filter((reply) => reply.status === 200).length
    expect(after.sessions! - before.sessions!).toBe(entered)
  }
})

test('a user with several invitations to one organization uses one of them', async () => {
  const organization = await buildOrganization(service)
  const { access_token: bearer } = await buildUser(service, app)
  const tokens = await Promise.all(Array.from({ length: 6 }, () => invite(organization)))
  const replies = await Promise.all(tokens.map((token) => accept(token, bearer)))
  expect(replies.filter((reply) => reply.status === 200)).toHaveLength(1)
  for (const reply of replies) if (reply.status !== 200) expectError(reply, 'already_member')
  const { items } = (await service.admin('GET', `/admin/organizations/${organization.id}/invitations`)).body
  expect(items.filter((each: Json) => each.status === 'accepted')).toHaveLength(1)
})

test('calls that add and remove a member at once cause no server error and leave at most one membership', async () => {
  for (let round = 0; round < 5; round += 1) {
    const organization = await buildOrganization(service)
    const joining = await buildApp(service, { auto_grant_on_signup: true, default_organization_id: organization.id })
    const { user, access_token: bearer } = await buildUser(service, app)
    const token = await invite(organization, { email: user.email, appCode: joining.code })
    const path = `/admin/organizations/${organization.id}/members/${user.id}`
    const replies = await Promise.all([
      accept(token, bearer),
      service.admin('PUT', path, { body: { role_codes: ['org_admin'] } }),
      service.login(user.email, joining.code),
      service.admin('DELETE', path),
      service.login(user.email, joining.code),
      service.admin('PUT', path, { body: { role_codes: ['org_member'] } }),
      service.admin('DELETE', `/admin/organizations/${organization.id}`),
    ])
    for (const reply of replies) expect(reply.status).toBeLessThan(500)
    expect(await countRows(service, 'organization_memberships', { user_id: user.id })).toBeLessThanOrEqual(1)
  }
})
