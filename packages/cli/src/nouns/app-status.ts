import { bodyOf } from '../api/api-client.ts'
import type { StatusNoun } from '../tools/subject-commands.ts'
import { appSubject, parseAppRef } from './app-ref.ts'

export const appStatus: StatusNoun<'active' | 'inactive'> = {
  subject: appSubject,
  async find(api, typed) {
    const path = { appId: parseAppRef(typed) }
    const before = await bodyOf(api.GET('/api/v1/admin/apps/{appId}', { params: { path } }))
    return {
      before,
      write: (status) => bodyOf(api.PATCH('/api/v1/admin/apps/{appId}', { params: { path }, body: { status } })),
    }
  },
}
