import type { components } from '@gatehouse/sdk/admin'
import { type Api, bodyAndNewness, bodyOf, pages, readAll } from '../api/api-client.ts'
import { parseDuration } from '../command-line/duration.ts'
import { Failure, usageFailure } from '../command-line/exit-codes.ts'
import { flag, optionalPositional, positional, requiredText, text, texts } from '../command-line/options.ts'
import { parseAppRef } from '../nouns/app-ref.ts'
import { confirmUnproven } from '../nouns/confirm-unproven.ts'
import { getOrganization, organizationRefSyntax } from '../nouns/organization-ref.ts'
import { isAbsent } from '../nouns/user-records.ts'
import { findUserId, userRefOf, userRefSyntax } from '../nouns/user-ref.ts'
import { type Result, record, rowsOf } from '../output/render.ts'
import { confirmName, confirmYes } from '../terminal/prompt.ts'
import { isUuid } from '../text/uuid.ts'
import { command } from '../tools/command.ts'
import { listCommand } from '../tools/list-command.ts'

export const listOrganizations = listCommand({
  path: 'org list',
  summary: 'List organizations, newest first',
  examples: ['org list', 'org list --q acme', 'org list --json'],
  filters: { q: text('TEXT', 'Only organizations whose slug or name contains this') },
  read: (api, filters, page) => api.GET('/api/v1/admin/organizations', { params: { query: { ...filters, ...page } } }),
  columns: ['slug', 'name', 'created_at', 'id'],
  none: 'no organizations',
})

export const showOrganization = command({
  path: 'org show',
  options: { org: positional('ORG', `Organization: ${organizationRefSyntax}`, { completes: 'organizations' }) },
  summary: 'Show an organization with its members and open invitations',
  examples: ['org show acme', 'org show acme --json', 'org show 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f'],
  async run({ api }, { org }) {
    const organization = await getOrganization(api, org)
    const path = { organizationId: organization.id }
    const members = await readAll(
      pages((query) => bodyOf(api.GET('/api/v1/admin/organizations/{organizationId}/members', { params: { path, query } }))),
    )
    const invitations = await readAll(
      pages((query) => bodyOf(api.GET('/api/v1/admin/organizations/{organizationId}/invitations', { params: { path, query } }))),
    )
    const open = invitations.filter(({ status }) => status === 'pending')
    const memberRows = rowsOf(members, [['member', userRefOf], ['roles', ({ role_codes }) => role_codes], 'status', 'joined_at'])
    const invitationRows = rowsOf(open, [
      ['invited', ({ email }) => email ?? 'anyone with the token'],
      ['roles', ({ role_codes }) => role_codes],
      ['app', ({ app_code }) => app_code],
      'expires_at',
      'id',
    ])
    return {
      kind: 'report',
      value: { ...organization, members, invitations: open },
      parts: [
        { record: { ...organization } },
        ...(members.length === 0 ? [] : ['', memberRows]),
        ...(open.length === 0 ? [] : ['', invitationRows]),
      ],
    }
  },
})

export const createOrganization = command({
  path: 'org create',
  options: {
    slug: optionalPositional('SLUG', 'Its name in tokens and addresses, in kebab-case. Default: made from the name'),
    name: requiredText('NAME', 'Display name'),
  },
  summary: 'Create an organization',
  examples: ['org create acme --name "Acme Ltd"', 'org create --name "Acme Ltd" --json', 'org create acme --name Acme --dry-run'],
  async run({ api }, { slug, name }) {
    const body = { name, ...(slug === undefined ? {} : { slug }) }
    return record(await bodyOf(api.POST('/api/v1/admin/organizations', { body })), 'created')
  },
})

export const updateOrganization = command({
  path: 'org update',
  options: {
    org: positional('ORG', `Organization: ${organizationRefSyntax}`),
    name: text('NAME', 'Display name'),
    slug: text('SLUG', 'Its name in tokens and addresses, in kebab-case'),
  },
  summary: 'Rename an organization',
  description: 'Tokens carry a new slug from their next refresh on.',
  examples: ['org update acme --name "Acme Ltd"', 'org update acme --slug acme-ltd', 'org update acme --name Acme --dry-run'],
  async run({ api }, { org, name, slug }) {
    if (name === undefined && slug === undefined) throw usageFailure('--name or --slug is required', 'nothing was changed')
    const before = await getOrganization(api, org)
    const path = { organizationId: before.id }
    const body = { ...(name === undefined ? {} : { name }), ...(slug === undefined ? {} : { slug }) }
    const after = await bodyOf(api.PATCH('/api/v1/admin/organizations/{organizationId}', { params: { path }, body }))
    return record(after, before.name === after.name && before.slug === after.slug ? 'unchanged' : 'updated')
  },
})

export const deleteOrganization = command({
  path: 'org delete',
  options: { org: positional('ORG', `Organization: ${organizationRefSyntax}`) },
  summary: 'Delete an organization without members',
  description: 'Also deletes its open invitations. Exits with 5 if it has members or an app uses it. Confirm with the slug.',
  examples: ['org delete acme --confirm acme', 'org delete acme', 'org delete acme --dry-run'],
  confirms: 'name',
  async run(tools, { org }) {
    const { api } = tools
    const { id, slug, name } = await getOrganization(api, org)
    await confirmName(tools, slug, `delete the organization ${slug}`)
    await api.DELETE('/api/v1/admin/organizations/{organizationId}', { params: { path: { organizationId: id } } })
    return record({ id, slug, name }, 'deleted')
  },
})

export const setMember = command({
  path: 'org member',
  options: {
    org: requiredText('ORG', `Organization: ${organizationRefSyntax}`, { completes: 'organizations' }),
    user: requiredText('USER', `User: ${userRefSyntax}`),
    role: texts('ROLE', 'Org-scoped roles; they replace the current ones', { completes: 'roles' }),
    remove: flag('Remove the member; needs --yes'),
  },
  summary: 'Add a member to an organization, set the roles of one, or remove one',
  description:
    'Tokens with this organization work until they expire. Once the member is removed, they cannot be refreshed with it. ' +
    'Repeating it changes nothing.',
  examples: [
    'org member --org acme --user bob@example.com --role org_member',
    'org member --org acme --user bob@example.com@@staff --role org_admin billing --json',
    'org member --org acme --user bob@example.com --remove --yes',
  ],
  async run(tools, { org, user, role, remove }) {
    const { api } = tools
    const roles = role ?? []
    if (remove && role !== undefined) throw usageFailure('--remove and --role contradict each other')
    if (!remove && roles.length === 0) throw usageFailure('--role is required', '--remove ends the membership')
    if (remove) await confirmYes(tools, `remove ${user} from ${org}`)
    const { id: organizationId, slug } = await getOrganization(api, org)
    const path = { organizationId, userId: await findUserId(api, user) }
    if (remove) return removeMember(api, path, slug)
    await confirmUnproven(tools, path.userId)
    return putMember(api, path, slug, roles)
  },
})

type Member = components['schemas']['Member']
type Path = { organizationId: string; userId: string }

const memberPath = '/api/v1/admin/organizations/{organizationId}/members/{userId}'

async function putMember(api: Api, path: Path, slug: string, role_codes: string[]): Promise<Result> {
  const before = await findMember(api, path)
  const { body: member, isNew } = await bodyAndNewness(api.PUT(memberPath, { params: { path }, body: { role_codes } }))
  const unchanged = before?.role_codes.join() === member.role_codes.join()
  return record({ organization: slug, ...member }, isNew ? 'added' : unchanged ? 'unchanged' : 'updated')
}

async function removeMember(api: Api, path: Path, slug: string): Promise<Result> {
  const answer = { organization: slug, organization_id: path.organizationId, user_id: path.userId }
  try {
    await api.DELETE(memberPath, { params: { path } })
    return record(answer, 'removed')
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'not_found') throw error
  }
  // The organization exists, so either the user is not a member or does not exist.
  await api.GET('/api/v1/admin/users/{userId}', { params: { path: { userId: path.userId } } })
  return record(answer, 'unchanged')
}

async function findMember(api: Api, { organizationId, userId }: Path): Promise<Member | undefined> {
  const members = pages((query) =>
    bodyOf(api.GET('/api/v1/admin/organizations/{organizationId}/members', { params: { path: { organizationId }, query } })),
  )
  for await (const page of members) {
    const found = page.find(({ id }) => id === userId)
    if (found) return found
  }
  return undefined
}

export const inviteMember = command({
  path: 'org invite',
  options: {
    org: requiredText('ORG', `Organization: ${organizationRefSyntax}`, { completes: 'organizations' }),
    email: text('EMAIL', 'Only the user with this address may accept. Default: anyone with the token'),
    role: texts('ROLE', 'Org-scoped roles of the membership', { completes: 'roles' }),
    app: text('CODE', 'App whose frontend the link leads to; accepting also grants access to it', { completes: 'apps' }),
    expires: text('DURATION', 'How long the invitation is valid, at most 90d. Default: 7d'),
  },
  summary: 'Invite a person to an organization',
  description: 'The token is shown only once.',
  examples: [
    'org invite --org acme --email bob@example.com --role org_member',
    'org invite --org acme --email bob@example.com --role org_admin --app shop --expires 2d',
    'org invite --org acme --role org_member --json',
  ],
  async run({ api, io }, input) {
    const { org, email, role, app, expires } = input
    if (!role?.length) throw usageFailure('--role is required')
    const lifeMs = expires === undefined ? undefined : parseDuration(expires)
    if (expires !== undefined && !lifeMs) {
      throw new Failure('invalid', `--expires ${expires} is not a duration`, { code: 'invalid_time', hint: 'such as 12h or 7d' })
    }
    const body = {
      role_codes: role,
      ...(email === undefined ? {} : { email }),
      ...(app === undefined ? {} : { app_code: parseAppRef(app) }),
      ...(lifeMs === undefined ? {} : { expires_in_seconds: Math.ceil(lifeMs / 1000) }),
    }
    const { id: organizationId } = await getOrganization(api, org)
    const path = { organizationId }
    const invitation = await bodyOf(
      api.POST('/api/v1/admin/organizations/{organizationId}/invitations', { params: { path }, body }),
    )
    io.note('the token is not shown again')
    return record(invitation, 'invited')
  },
})

export const revokeInvitation = command({
  path: 'org invitation revoke',
  options: {
    invitation: positional('ID', 'Id of the invitation, as org show lists it'),
    org: requiredText('ORG', `Organization: ${organizationRefSyntax}`),
  },
  summary: 'Revoke an invitation',
  description: 'It can no longer be accepted. If it was accepted before, the membership stays. Repeating it changes nothing.',
  examples: [
    'org invitation revoke 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f --org acme --yes',
    'org invitation revoke 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f --org acme --reason "wrong address" --yes',
    'org invitation revoke 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f --org acme --dry-run',
  ],
  confirms: 'yes',
  async run(tools, { invitation, org }) {
    if (!isUuid(invitation)) {
      throw new Failure('invalid', `"${invitation}" is not the id of an invitation`, {
        code: 'invalid_invitation_id',
        hint: 'authctl org show ORG lists them',
      })
    }
    const { api } = tools
    await confirmYes(tools, `revoke the invitation ${invitation} to ${org}`)
    const { id: organizationId, slug } = await getOrganization(api, org)
    const answer = { id: invitation, organization: slug }
    try {
      const path = { organizationId, invitationId: invitation }
      await api.DELETE('/api/v1/admin/organizations/{organizationId}/invitations/{invitationId}', { params: { path } })
      return record(answer, 'revoked')
    } catch (error) {
      if (!isAbsent(error)) throw error
      return record(answer, 'unchanged')
    }
  },
})
