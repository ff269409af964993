import type { components } from '@gatehouse/sdk/admin'
import { type Api, bodyOf, pages } from '../api/api-client.ts'
import { Failure } from '../command-line/exit-codes.ts'
import { isUuid } from '../text/uuid.ts'

export const scopes = [
  'permissions:register',
  'users:register_or_return',
  'users:override',
  'tokens:introspect',
  'tokens:issue',
  'limits:exempt',
  'users:changes',
  'admin:read',
  'admin:configure',
] as const
export type Scope = (typeof scopes)[number]

export type ServiceAccount = components['schemas']['ServiceAccount']

/** Finds a service account by id or name. Throws `notFound`. */
export async function getServiceAccount(api: Api, typed: string): Promise<ServiceAccount> {
  const wanted = isUuid(typed) ? typed.toLowerCase() : undefined
  const all = pages((query) => bodyOf(api.GET('/api/v1/admin/service-accounts', { params: { query } })))
  for await (const page of all) {
    const found = page.find(({ id, name }) => (wanted === undefined ? name === typed : id === wanted))
    if (found) return found
  }
  throw new Failure('notFound', `no service account is named ${typed}`, {
    code: 'service_account_not_found',
    hint: 'authctl service-account list shows all of them',
  })
}
