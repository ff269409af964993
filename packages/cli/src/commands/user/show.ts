import { bodyOf } from '../../api/api-client.ts'
import { userSubject } from '../../nouns/user-commands.ts'
import { findUserId } from '../../nouns/user-ref.ts'
import { showCommand } from '../../tools/subject-commands.ts'

export const showUser = showCommand({
  path: 'user show',
  summary: 'Show a user with pools, apps, roles and organizations',
  examples: [
    'user show bob@example.com',
    'user show bob@example.com@@staff',
    'user show 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f --json',
  ],
  subject: userSubject,
  read: async (api, typed) => {
    const path = { userId: await findUserId(api, typed) }
    return bodyOf(api.GET('/api/v1/admin/users/{userId}', { params: { path } }))
  },
})
