import type { components } from '@gatehouse/sdk/admin'
import { type Api, bodyOf, pages, readAll } from '../api/api-client.ts'
import { Failure, toFailure } from '../command-line/exit-codes.ts'
import { flag, optionalPositional } from '../command-line/options.ts'
import { type Answered, answered, forUsersTogether, type Named, readUsers, userOptions } from '../nouns/for-users.ts'
import { parseUserRef, userRefOf } from '../nouns/user-ref.ts'
import { type Result, rowsOf } from '../output/render.ts'
import { confirmName } from '../terminal/prompt.ts'
import { command } from '../tools/command.ts'
import type { Tools } from '../tools/create-tools.ts'

type User = components['schemas']['User']
type Offboarding = components['schemas']['Offboarding']

export const offboardUser = command({
  path: 'user offboard',
  options: {
    email: optionalPositional(
      'EMAIL',
      'User who leaves: an e-mail means the accounts in all pools, a UUID or email@@pool only one',
    ),
    fromFile: userOptions.fromFile,
    keepServiceAccounts: flag('Only list the service accounts whose token they know, without deleting them: rotate those soon'),
  },
  summary: 'Remove all access of a person, in all pools',
  description:
    'Suspends the accounts, ends sessions, revokes grants, ends memberships, denies access requests, revokes invitations, and ' +
    'deletes the service accounts whose token was last shown to the person. Each account is closed completely or not at all. Prints what it did; --dry-run prints ' +
    'what it would do. Global roles stay, but have no effect until the account is activated again. Safe to repeat. With ' +
    '--from-file, --confirm takes the number of users in the file.',
  examples: [
    'user offboard bob@example.com --dry-run',
    'user offboard bob@example.com --confirm bob@example.com --reason "left the company"',
    'user offboard --from-file leavers.txt --confirm 12 --reason "the office closes"',
  ],
  confirms: 'name',
  async run(tools, { email: named, fromFile, keepServiceAccounts }) {
    const { settings, io } = tools
    const people = await readUsers(tools, { user: named, fromFile }, 'EMAIL')
    if (people.isList) return offboardList(tools, people, keepServiceAccounts)
    const email = people.who
    const users = await findAccounts(tools.api, email)
    await confirmName(tools, email, `offboard ${users.map(userRefOf).join(', ')}`)
    const rows: Row[] = []
    let current: User | undefined
    const forget = tools.onInterrupt(() => interrupted(rows, current))
    let failure: Failure | undefined
    try {
      for (const user of users) {
        current = user
        try {
          rows.push(rowOf(user, await offboard(tools, user.id, keepServiceAccounts), settings.dryRun))
        } catch (thrown) {
          failure = toFailure(thrown)
          rows.push({ user: userRefOf(user), outcome: 'failed', error: { code: failure.code, message: failure.message } })
          if (failure.ending !== 'conflict') break
        }
        current = undefined
      }
    } finally {
      forget()
    }
    // Nothing was done, so throw the failure itself.
    if (failure && rows.length === 1) throw failure
    if (settings.dryRun) io.note(`nothing was changed ${tools.place()} (--dry-run)`)
    for (const { did } of rows) if (did) noteRoles(io, did)
    return report(rows, failure)
  },
})

async function offboardList(tools: Tools, people: Named, keeps: boolean): Promise<Result> {
  const { rehearsalApi, settings } = tools
  await confirmName(tools, String(people.refs.length), `offboard ${people.who}`)
  const query = settings.dryRun ? { dry_run: true } : {}
  const through = settings.dryRun ? rehearsalApi : tools.api
  return forUsersTogether(tools, people, async (users) => {
    const body = { users, ...bodyFor(keeps) }
    const { items } = await bodyOf(through.POST('/api/v1/admin/users/offboard', { params: { query }, body }))
    return items.map((item) => {
      for (const account of item.accounts) noteRoles(tools.io, account)
      const { outcome, ...rest } = answered(item)
      const isPlan = settings.dryRun && outcome !== 'failed'
      return { ...rest, ...(isPlan ? plan(item.accounts) : { outcome }), accounts: item.accounts }
    })
  })
}

/** What a rehearsal of one person says in a line. */
function plan(accounts: readonly Offboarding[]): Answered {
  const sum = (count: (account: Offboarding) => number) => accounts.reduce((total, account) => total + count(account), 0)
  const parts = {
    'to suspend': sum(({ suspended }) => Number(suspended)),
    sessions: sum(({ sessions }) => sessions),
    grants: sum(({ grants }) => grants.length),
    memberships: sum(({ organizations }) => organizations.length),
    'access requests': sum(({ access_requests }) => access_requests),
    invitations: sum(({ invitations }) => invitations),
    'service accounts': sum(({ service_accounts }) => service_accounts.length),
  }
  const told = Object.entries(parts).flatMap(([what, count]) => (count > 0 ? [`${what}: ${count}`] : []))
  return { outcome: 'planned', message: told.length > 0 ? told.join(', ') : 'nothing to do' }
}

function noteRoles(io: Tools['io'], { user, roles }: Offboarding): void {
  const ref = userRefOf(user)
  for (const role of roles) io.note(`${ref} keeps the role ${role}: authctl user role ${ref} --role ${role} --remove --yes`)
}

interface Row {
  user: string
  outcome: 'offboarded' | 'unchanged' | 'planned' | 'failed'
  did?: Offboarding
  error?: { code: string; message: string }
}

async function findAccounts(api: Api, typed: string): Promise<User[]> {
  const ref = parseUserRef(typed)
  const users = 'id' in ref ? [await getUser(api, ref.id)] : await listByEmail(api, ref)
  const open = users.filter(({ status }) => status !== 'deleted')
  if (open.length > 0) return open
  throw new Failure('notFound', `no user matches ${typed}`, { code: 'user_not_found', hint: 'authctl user find searches' })
}

function getUser(api: Api, userId: string): Promise<User> {
  return bodyOf(api.GET('/api/v1/admin/users/{userId}', { params: { path: { userId } } }))
}

function listByEmail(api: Api, { email, pool }: { email: string; pool: string | undefined }): Promise<User[]> {
  const filter = { email, ...(pool === undefined ? {} : { namespace: pool }) }
  return readAll(pages((page) => bodyOf(api.GET('/api/v1/admin/users', { params: { query: { ...filter, ...page } } }))))
}

function offboard({ api, rehearsalApi, settings }: Tools, userId: string, keeps: boolean): Promise<Offboarding> {
  const query = settings.dryRun ? { dry_run: true } : {}
  // A rehearsal reports what would be done, which says more than the planned request.
  const through = settings.dryRun ? rehearsalApi : api
  return bodyOf(
    through.POST('/api/v1/admin/users/{userId}/offboard', { params: { path: { userId }, query }, body: bodyFor(keeps) }),
  )
}

function bodyFor(keeps: boolean): { keep_service_accounts?: boolean } {
  return keeps ? { keep_service_accounts: true } : {}
}

function rowOf(user: User, did: Offboarding, isDryRun: boolean): Row {
  const { suspended, sessions, grants, organizations, access_requests, invitations, service_accounts } = did
  const isDone = suspended || sessions + grants.length + organizations.length + access_requests + invitations > 0
  const changes = isDone || service_accounts.some(({ deleted }) => deleted)
  return { user: userRefOf(user), outcome: isDryRun ? 'planned' : changes ? 'offboarded' : 'unchanged', did }
}

function interrupted(rows: readonly Row[], current: User | undefined): Failure {
  const done = rows.filter(({ outcome }) => outcome !== 'failed').map(({ user }) => user)
  const told = done.length === 0 ? 'no account is done' : `done: ${done.join(', ')}`
  const under = current ? `; ${userRefOf(current)} was in progress` : ''
  return new Failure('interrupted', `interrupted: ${told}${under}`, {
    code: 'interrupted',
    hint: 'run the same command again: accounts that are done stay unchanged',
  })
}

function report(rows: Row[], failure: Failure | undefined): Result {
  const parts = rows.flatMap(({ user, outcome, did, error }, index) => {
    const head = { user, outcome, ...(error ? { error: error.message } : {}) }
    const gap = index === 0 ? [] : ['']
    if (!did) return [...gap, { record: head }]
    const { user: _, service_accounts, ...told } = did
    const accounts = rowsOf(service_accounts, [['service_account', ({ name }) => name], 'service', 'deleted', 'id'])
    return [...gap, { record: { ...head, ...told } }, ...(service_accounts.length === 0 ? [] : [accounts])]
  })
  const failed = rows.filter(({ outcome }) => outcome === 'failed').length
  return {
    kind: 'report',
    value: { accounts: rows.map(({ did, ...row }) => ({ ...row, ...(did ? { did } : {}) })) },
    parts,
    failure:
      failure &&
      new Failure('failures', `${failed} of ${rows.length} accounts failed: ${failure.message}`, {
        code: failure.code,
        hint: failure.hint,
      }),
  }
}
