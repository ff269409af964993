import type { components } from '@gatehouse/sdk/admin'
import { type Api, bodyAndNewness, bodyOf, pages } from '../../api/api-client.ts'
import { Failure, usageFailure } from '../../command-line/exit-codes.ts'
import { flag, requiredText, texts } from '../../command-line/options.ts'
import { confirmUnproven } from '../../nouns/confirm-unproven.ts'
import { getOrganization, organizationRefSyntax } from '../../nouns/organization-ref.ts'
import { findUserId, userRefSyntax } from '../../nouns/user-ref.ts'
import { type Result, record } from '../../output/output.ts'
import { confirmYes } from '../../terminal/prompt.ts'
import { command } from '../../tools/command.ts'

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
