import { type Api, bodyOf } from '../api/api-client.ts'
import { type Result, record } from '../output/output.ts'
import { parseAppRef } from './app-ref.ts'

/** Sets the status of an app; nothing is sent when it has it already. */
export async function setAppStatus(api: Api, code: string, status: 'active' | 'inactive'): Promise<Result> {
  const path = { appId: parseAppRef(code) }
  const before = await bodyOf(api.GET('/api/v1/admin/apps/{appId}', { params: { path } }))
  if (before.status === status) return record(before, 'unchanged')
  const after = await bodyOf(api.PATCH('/api/v1/admin/apps/{appId}', { params: { path }, body: { status } }))
  return record(after, status === 'active' ? 'activated' : 'deactivated')
}
