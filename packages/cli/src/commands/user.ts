import { type Api, bodyOf, readAll } from '../api/api-client.ts'
import { Failure, usageFailure } from '../command-line/exit-codes.ts'
import { choice, flag, optionalPositional, requiredText, text, texts } from '../command-line/options.ts'
import { confirmUnproven } from '../nouns/confirm-unproven.ts'
import { parsePlainName } from '../nouns/plain-name.ts'
import { noteNewPools, noteUnknownPool } from '../nouns/pool-names.ts'
import { userStatus, userSubject } from '../nouns/user-commands.ts'
import { getUserDetail, sessionColumns, sessionsOf } from '../nouns/user-records.ts'
import { findUserId, shownUser, userRefOf } from '../nouns/user-ref.ts'
import { record, rowsOf } from '../output/render.ts'
import { confirmName, confirmYes } from '../terminal/prompt.ts'
import { type Command, command } from '../tools/command.ts'
import { listCommand } from '../tools/list-command.ts'
import { readSecrets } from '../tools/read-secrets.ts'
import { statusCommand } from '../tools/subject-commands.ts'

export const findUsers = searchAs('user find', 'Search users, newest first')
/** The other name of `user find`, since every other list is called list. */
export const listUsers = searchAs('user list', 'List users, newest first, as user find does')

function searchAs(path: string, summary: string): Command {
  return listCommand({
    path,
    summary,
    examples: [`${path} bob`, `${path} --app shop --pool staff`, `${path} --role system_admin --json`],
    filters: {
      q: optionalPositional('TEXT', 'Part of the e-mail or of a name'),
      email: text('EMAIL', 'Exactly this e-mail, in any pool'),
      pool: text('POOL', 'Home pool or pool tag', { completes: 'pools' }),
      app: text('CODE', 'Users who may enter this app', { completes: 'apps' }),
      role: text('ROLE', 'Users with this role', { completes: 'roles' }),
      status: choice(['active', 'suspended', 'deleted'], 'Users with this status; without it, deleted users are left out'),
    },
    read: (api, { pool, ...filters }, page) =>
      api.GET('/api/v1/admin/users', { params: { query: { ...filters, namespace: pool, ...page } } }),
    columns: [
      ['user', (user) => shownUser(userRefOf(user))],
      'status',
      'first_name',
      'last_name',
      ['pools', (user) => user.namespaces],
      ['created_at', (user) => user.created_at],
      ['verified', (user) => user.email_verified, 'wide'],
      'id',
    ],
    none: 'no users',
    watch: (tools, { pool }, users) => noteUnknownPool(tools, pool, users),
    lists: 'long',
  })
}

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

export const createUser = command({
  path: 'user create',
  options: {
    email: requiredText('EMAIL', 'E-mail of the new user'),
    pool: text('POOL', 'Home pool. Default: "default"', { completes: 'pools' }),
    firstName: text('NAME', 'First name'),
    lastName: text('NAME', 'Last name'),
    locale: text('TAG', 'The language that the user reads, such as de or pt-BR'),
    tag: texts('POOL', 'Further pools, as tags', { completes: 'pools' }),
    role: texts('ROLE', 'Global roles', { completes: 'roles' }),
    verified: flag('Mark the e-mail as verified'),
    passwordStdin: flag('Read a password from standard input. Without one, the user sets it with a reset mail'),
  },
  summary: 'Create a user',
  description: 'Sends no mail and grants no app.',
  examples: [
    'user create --email bob@example.com --pool staff',
    'user create --email bob@example.com --first-name Bob --tag partners --role support --verified --json',
    'user create --email bob@example.com --password-stdin < password.txt',
  ],
  async run(tools, input) {
    const { email, pool, firstName, lastName, locale, tag, role, verified, passwordStdin } = input
    const password = passwordStdin ? (await readSecrets(tools, true)).password : undefined
    const given = {
      namespace: pool,
      first_name: firstName,
      last_name: lastName,
      locale,
      tags: tag,
      roles: role,
      email_verified: verified || undefined,
      password,
    }
    const body = { email, ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) }
    await noteNewPools(tools, [pool, ...(tag ?? [])])
    const user = await bodyOf(tools.api.POST('/api/v1/admin/users', { body }))
    if (password === undefined) tools.io.note('the user has no password yet, and can set one with a "forgot password" mail')
    return record(user, 'created')
  },
})

export const updateUser = command({
  path: 'user update',
  options: {
    user: userSubject,
    email: text('EMAIL', 'New address. It is unverified, and tokens with the old one stop working'),
    firstName: text('NAME', 'First name; "" clears it'),
    lastName: text('NAME', 'Last name; "" clears it'),
    locale: text('TAG', 'The language that the user reads, such as de or pt-BR; "" clears it'),
  },
  summary: 'Change the e-mail, the names or the language of a user',
  description: 'Values that are not given stay unchanged.',
  examples: [
    'user update bob@example.com --first-name Robert',
    'user update bob@example.com@@staff --email robert@example.com',
    'user update bob@example.com --last-name "" --dry-run',
  ],
  async run({ api }, { user, ...input }) {
    const { email: newEmail, firstName, lastName, locale: newLocale } = input
    const given = { email: newEmail, first_name: firstName, last_name: lastName, locale: newLocale }
    const body = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
    if (Object.keys(body).length === 0)
      throw usageFailure('--email, --first-name, --last-name or --locale is required', 'nothing was changed')
    const before = await getUserDetail(api, user)
    const path = { userId: before.id }
    const after = await bodyOf(api.PATCH('/api/v1/admin/users/{userId}', { params: { path }, body }))
    const isSame = (['email', 'first_name', 'last_name', 'locale'] as const).every((name) => before[name] === after[name])
    const { id, email, email_verified, first_name, last_name, locale, namespace, status } = after
    return record(
      { id, email, email_verified, first_name, last_name, locale, namespace, status },
      isSame ? 'unchanged' : 'updated',
    )
  },
})

export const setUserRole = command({
  path: 'user role',
  options: {
    user: userSubject,
    role: requiredText('ROLE', 'A global role; org member sets the roles of organizations', { completes: 'roles' }),
    remove: flag('Remove the role; needs --yes'),
  },
  summary: 'Give a user a global role, or remove it',
  description:
    'Tokens show the change from their next refresh on. A former system_admin loses the admin API at once. ' +
    'Repeating it changes nothing.',
  examples: [
    'user role bob@example.com --role support',
    'user role bob@example.com --role support --remove --yes',
    'user role bob@example.com@@staff --role system_admin --json',
  ],
  async run(tools, { user, role, remove }) {
    const { api } = tools
    const role_code = parsePlainName(role, 'role')
    if (remove) await confirmYes(tools, `remove the role ${role} from ${user}`)
    const userId = await findUserId(api, user)
    const answer = { user_id: userId, role: role_code }
    if (remove) return record(answer, await takeAway(api, userId, role_code))
    await confirmUnproven(tools, userId)
    const body = { role_code }
    const { response } = await api.POST('/api/v1/admin/users/{userId}/roles', { params: { path: { userId } }, body })
    return record(answer, response.status === 201 ? 'added' : 'unchanged')
  },
})

async function takeAway(api: Api, userId: string, roleCode: string): Promise<'removed' | 'unchanged'> {
  try {
    await api.DELETE('/api/v1/admin/users/{userId}/roles/{roleCode}', { params: { path: { userId, roleCode } } })
    return 'removed'
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'not_found') throw error
  }
  // Either the user does not hold the role, or the user or the role does not exist.
  await bodyOf(api.GET('/api/v1/admin/users/{userId}', { params: { path: { userId } } }))
  await bodyOf(api.GET('/api/v1/admin/roles/{roleCode}', { params: { path: { roleCode } } }))
  return 'unchanged'
}

export const suspendUser = statusCommand({
  path: 'user suspend',
  summary: 'Suspend a user',
  description: 'Ends all sessions and invalidates all tokens. Repeating it changes nothing.',
  examples: [
    'user suspend bob@example.com --yes',
    'user suspend bob@example.com@@staff',
    'user suspend bob@example.com --dry-run',
  ],
  noun: userStatus,
  status: 'suspended',
  outcome: 'suspended',
  action: (user) => `suspend ${user}`,
})

export const activateUser = statusCommand({
  path: 'user activate',
  summary: 'Activate a suspended user again',
  description:
    'Old sessions and tokens stay invalid. Global roles that the account kept take effect again; user show lists them.',
  examples: [
    'user activate bob@example.com',
    'user activate bob@example.com@@staff --json',
    'user activate bob@example.com --dry-run',
  ],
  noun: userStatus,
  status: 'active',
  outcome: 'activated',
})

export const deleteUser = command({
  path: 'user delete',
  options: {
    user: userSubject,
    erase: flag('Also erase e-mail and names everywhere. Works with the id of a user who is already deleted, too'),
  },
  summary: 'Delete a user',
  description:
    'Frees the e-mail, invalidates every token, and removes roles, memberships, pool tags and grants. The id stays. ' +
    'Confirm with the e-mail, even if you give the id.',
  examples: [
    'user delete bob@example.com --confirm bob@example.com',
    'user delete bob@example.com@@staff --confirm bob@example.com --erase',
    'user delete bob@example.com --dry-run',
  ],
  confirms: 'name',
  async run(tools, { user, erase }) {
    const { api } = tools
    const path = { userId: await findUserId(api, user) }
    const { id, email } = await bodyOf(api.GET('/api/v1/admin/users/{userId}', { params: { path } }))
    // An erased user has only an id.
    const name = email || id
    await confirmName(tools, name, `delete the user ${name}`)
    await api.DELETE('/api/v1/admin/users/{userId}', { params: { path, query: erase ? { erase: true } : {} } })
    return record({ user_id: id, erased: erase }, 'deleted')
  },
})
