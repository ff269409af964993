import { type Api, bodyOf, pages } from '../api/api-client.ts'
import type { components } from '../api-types.ts'
import { Failure } from '../command-line/exit-codes.ts'
import { isUuid } from '../text/uuid.ts'

export type ServiceAccount = components['schemas']['ServiceAccount']

/** The service account that was named by id or name. Throws `not found`, and `ambiguous` with the candidates. */
export async function getServiceAccount(api: Api, typed: string): Promise<ServiceAccount> {
  const wanted = isUuid(typed) ? typed.toLowerCase() : undefined
  const found: ServiceAccount[] = []
  const all = pages((query) => bodyOf(api.GET('/api/v1/admin/service-accounts', { params: { query } })))
  for await (const page of all) {
    found.push(...page.filter(({ id, name }) => (wanted === undefined ? name === typed : id === wanted)))
  }
  const [only, ...others] = found
  if (others.length > 0) {
    const candidates = found.map(({ id, name, service }) => `${id}  ${name} (${service})`).join('\n')
    throw new Failure('invalid', `${found.length} service accounts are named ${typed}`, {
      code: 'ambiguous_service_account',
      hint: `name one of these by its id:\n${candidates}`,
    })
  }
  if (only) return only
  throw new Failure('notFound', `no service account is named ${typed}`, {
    code: 'service_account_not_found',
    hint: 'authctl service-account list shows what there is',
  })
}
