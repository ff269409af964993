import type { Deps } from '../../deps.ts'
import { App } from '../../models/app.ts'
import type { AuditEvent } from '../../models/audit-event.ts'
import { ServiceAccount } from '../../models/service-account.ts'
import { User } from '../../models/user.ts'
import type { NamesById } from './present.ts'

/** Finds the current names of what the events refer to, in three statements however many events there are. */
export async function findNames(deps: Deps, events: readonly AuditEvent[]): Promise<NamesById> {
  const actors = (type: AuditEvent['actor_type']) =>
    events.filter((event) => event.actor_type === type).map((event) => event.actor_id)
  const [users, apps, accounts] = await Promise.all([
    User.listNames(deps.db, distinct([...events.map(({ user_id }) => user_id), ...actors('user')])),
    App.listCodes(deps.db, distinct(events.map(({ app_id }) => app_id))),
    ServiceAccount.listNames(deps.db, distinct(actors('service_account'))),
  ])
  return {
    users: new Map(users.map(({ id, email, namespace }) => [id, `${email}@@${namespace}`])),
    apps: new Map(apps.map(({ id, code }) => [id, code])),
    serviceAccounts: new Map(accounts.map(({ id, name }) => [id, name])),
  }
}

function distinct(ids: readonly (string | null)[]): string[] {
  return [...new Set(ids.filter((id) => id !== null))]
}
