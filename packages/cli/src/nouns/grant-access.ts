import type { Api } from '../api/api-client.ts'
import type { components } from '../api-types.ts'
import type { Change } from './for-users.ts'

export async function grantAccess(
  api: Api,
  path: { userId: string; appId: string },
  body: components['schemas']['GrantAccess'],
): Promise<Change> {
  const { data, response } = await api.POST('/api/v1/admin/users/{userId}/apps/{appId}', { params: { path }, body })
  const isNew = response.status === 201
  return { value: data!, outcome: isNew ? 'granted' : Object.keys(body).length > 0 ? 'updated' : 'unchanged' }
}
