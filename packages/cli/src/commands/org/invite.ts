import { bodyOf } from '../../api/api-client.ts'
import { parseDuration } from '../../command-line/duration.ts'
import { Failure, usageFailure } from '../../command-line/exit-codes.ts'
import { requiredText, text, texts } from '../../command-line/options.ts'
import { parseAppRef } from '../../nouns/app-ref.ts'
import { getOrganization, organizationRefSyntax } from '../../nouns/organization-ref.ts'
import { record } from '../../output/output.ts'
import { command } from '../../tools/command.ts'

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
