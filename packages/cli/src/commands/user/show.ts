import { readAll } from '../../api/api-client.ts'
import { userSubject } from '../../nouns/user-commands.ts'
import { getUserDetail, sessionColumns, sessionsOf } from '../../nouns/user-records.ts'
import { rowsOf } from '../../output/output.ts'
import { command } from '../../tools/command.ts'

export const showUser = command({
  path: 'user show',
  options: { user: userSubject },
  summary: 'Show a user: pools, apps, roles, organizations, lock, second factor, number of passkeys, identities and sessions',
  description: 'last_login_at is the start of the newest session that the service has kept.',
  examples: [
    'user show bob@example.com',
    'user show bob@example.com@@staff',
    'user show 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f --json',
  ],
  async run({ api }, { user }) {
    const detail = await getUserDetail(api, user)
    const sessions = await readAll(sessionsOf(api, detail.id))
    const { apps, organizations, identities, ...own } = detail
    const tables = [
      rowsOf(apps, [['app', ({ app_code }) => app_code], ['access', ({ effective }) => effective], 'expires_at']),
      rowsOf(organizations, [['organization', ({ slug }) => slug], ['roles', ({ role_codes }) => role_codes], 'name']),
      rowsOf(identities, [['identity', ({ provider }) => provider], ['linked_at', ({ created_at }) => created_at], 'id']),
      rowsOf(sessions, [['session', ({ app }) => app?.code ?? null], ...sessionColumns.slice(1)]),
    ]
    const shown = [apps, organizations, identities, sessions].flatMap((rows, index) =>
      rows.length === 0 ? [] : ['', tables[index]!],
    )
    return { kind: 'report', value: { ...detail, sessions }, parts: [{ record: own }, ...shown] }
  },
})
