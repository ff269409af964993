import { Failure } from '../../../command-line/exit-codes.ts'
import { positional, requiredText } from '../../../command-line/options.ts'
import { getOrganization, organizationRefSyntax } from '../../../nouns/organization-ref.ts'
import { isAbsent } from '../../../nouns/user-records.ts'
import { record } from '../../../output/output.ts'
import { confirmYes } from '../../../terminal/prompt.ts'
import { isUuid } from '../../../text/uuid.ts'
import { command } from '../../../tools/command.ts'

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
