import { type Api, bodyOf } from '../api/api-client.ts'
import { type Result, record } from '../output/output.ts'
import { findUserId } from './user-ref.ts'

/** Sets the status of a user; nothing is sent when it has it already. */
export async function setUserStatus(api: Api, typed: string, status: 'active' | 'suspended'): Promise<Result> {
  const path = { userId: await findUserId(api, typed) }
  const before = await bodyOf(api.GET('/api/v1/admin/users/{userId}', { params: { path } }))
  if (before.status === status) return record(before, 'unchanged')
  const after = await bodyOf(api.PATCH('/api/v1/admin/users/{userId}', { params: { path }, body: { status } }))
  return record(after, status === 'active' ? 'activated' : 'suspended')
}
