import { type Api, bodyOf, pages, readAll } from '../api/api-client.ts'
import { Failure } from '../command-line/exit-codes.ts'
import type { AuditEvent } from './audit-events.ts'
import { userRefOf } from './user-ref.ts'

/** Looks up what people call the users, apps and service accounts that events name by id. Each is asked for once. */
export interface Names {
  user(id: string): Promise<string>
  app(id: string): Promise<string>
  actor(event: Pick<AuditEvent, 'actor'>): Promise<string>
}

export function namesFrom(api: Api): Names {
  const known = new Map<string, Promise<string>>()
  const once = (id: string, read: () => Promise<string>) => {
    const name = known.get(id) ?? orElse(read(), id)
    known.set(id, name)
    return name
  }
  const user = (id: string) =>
    once(id, async () => {
      const found = await bodyOf(api.GET('/api/v1/admin/users/{userId}', { params: { path: { userId: id } } }))
      return found.email === '' ? id : userRefOf(found)
    })
  return {
    user,
    app: (id) =>
      once(id, async () => (await bodyOf(api.GET('/api/v1/admin/apps/{appId}', { params: { path: { appId: id } } }))).code),
    async actor({ actor: { type, id } }) {
      if (id === null) return type === 'system' ? 'the service itself, or its command line' : type
      return type === 'user' ? user(id) : once(id, () => nameOfAccount(api, id))
    },
  }
}

async function nameOfAccount(api: Api, id: string): Promise<string> {
  const all = await readAll(pages((query) => bodyOf(api.GET('/api/v1/admin/service-accounts', { params: { query } }))))
  const found = all.find((account) => account.id === id)
  return found ? `service account ${found.name}` : id
}

/** What was deleted has no name any more. */
async function orElse(name: Promise<string>, id: string): Promise<string> {
  try {
    return await name
  } catch (error) {
    if (error instanceof Failure && error.ending === 'notFound') return id
    throw error
  }
}
