import type { components } from '@gatehouse/sdk/admin'
import { type Api, bodyAndNewness } from '../api/api-client.ts'
import type { Change } from './for-users.ts'

export async function grantAccess(
  api: Api,
  path: { userId: string; appId: string },
  body: components['schemas']['GrantAccess'],
): Promise<Change> {
  const call = api.POST('/api/v1/admin/users/{userId}/apps/{appId}', { params: { path }, body })
  const { body: value, isNew } = await bodyAndNewness(call)
  return { value, outcome: isNew ? 'granted' : Object.keys(body).length > 0 ? 'updated' : 'unchanged' }
}
