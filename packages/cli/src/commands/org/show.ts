import { bodyOf, pages, readAll } from '../../api/api-client.ts'
import { positional } from '../../command-line/options.ts'
import { getOrganization, organizationRefSyntax } from '../../nouns/organization-ref.ts'
import { userRefOf } from '../../nouns/user-ref.ts'
import { rowsOf } from '../../output/output.ts'
import { command } from '../../tools/command.ts'

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
