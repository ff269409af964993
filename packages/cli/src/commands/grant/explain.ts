import type { components } from '@gatehouse/sdk/admin'
import { bodyOf } from '../../api/api-client.ts'
import { requiredText, text } from '../../command-line/options.ts'
import { parseAppRef } from '../../nouns/app-ref.ts'
import { findOnlyUserId, findUserId, parseUserRef, userRefSyntax } from '../../nouns/user-ref.ts'
import type { Column } from '../../output/cells.ts'
import { rowsOf } from '../../output/output.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

type Step = components['schemas']['Explanation']['steps'][number]
type Detail = NonNullable<Step['detail']>

export const explainGrant = command({
  path: 'grant explain',
  options: {
    app: requiredText('CODE', 'Code or id of the app', { completes: 'apps' }),
    user: requiredText('USER', `User: ${userRefSyntax}`),
    org: text('ID', 'Organization that the login names', { completes: 'organizationIds' }),
  },
  summary: 'Explain why a user can or cannot enter an app',
  description:
    'Replays the steps of a login as if the password and the two-factor code were right, and changes nothing. ' +
    'Stops at the first step that refuses, then lists the steps that would refuse once that one is fixed. Shows the commands that ' +
    'fix them, in order. Exits with 0 whatever the outcome.',
  examples: [
    'grant explain --app shop --user bob@example.com',
    'grant explain --app shop --user bob@example.com@@staff --org 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f',
    'grant explain --app shop --user bob@example.com --json',
  ],
  async run({ api }, { app, user, org }) {
    const query = { app: parseAppRef(app), ...(org === undefined ? {} : { organization_id: org }) }
    const explanation = await bodyOf(
      api.GET('/api/v1/admin/explain', { params: { query: { ...query, ...(await whoLogsIn(api, user)) } } }),
    )
    const { steps, further_refusals, outcome } = explanation
    const remedies = [...steps, ...further_refusals].flatMap(({ detail = '' }) => commandsIn(detail))
    return {
      kind: 'report',
      value: explanation,
      parts: [
        rowsOf(steps, columns),
        ...(further_refusals.length > 0 ? ['', 'once that is fixed, this refuses too:', rowsOf(further_refusals, columns)] : []),
        '',
        `outcome: ${outcome}`,
        ...remedies.map((remedy) => `  ${remedy}`),
      ],
    }
  },
})

const columns: Column<Step>[] = [
  'step',
  ['check', ({ name }) => name],
  'ok',
  'code',
  ['detail', ({ detail }) => detail && withoutCommands(detail)],
]

/** An e-mail may be unknown: the service explains that login too. An e-mail with a pool, or an id, must belong to a user. */
async function whoLogsIn(api: Tools['api'], typed: string): Promise<{ user_id: string } | { email: string }> {
  const ref = parseUserRef(typed)
  if ('id' in ref || ref.pool !== undefined) return { user_id: await findUserId(api, typed) }
  const id = await findOnlyUserId(api, typed)
  return id === undefined ? { email: ref.email } : { user_id: id }
}

/** The service ends a detail with one or several commands that help: "…: authctl x or authctl y". */
function commandsIn(detail: Detail): string[] {
  const [, ...commands] = detail.split(/(?:: | or )(?=authctl )/)
  return commands
}

function withoutCommands(detail: Detail): string {
  const [told = ''] = detail.split(/: (?=authctl )/, 1)
  return told
}
