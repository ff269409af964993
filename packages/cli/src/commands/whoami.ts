import { bodyOf } from '../api/api-client.ts'
import { userRefOf } from '../nouns/user-ref.ts'
import { record } from '../output/output.ts'
import { command } from '../tools/command.ts'

export const whoami = command({
  path: 'whoami',
  summary: 'Show who is signed in, and where',
  examples: ['whoami', 'whoami --context production', 'whoami --json'],
  options: {},
  async run(tools) {
    const { contextName, baseUrl, token } = tools.connect()
    const { user, roles, two_factor } = await bodyOf(tools.api.GET('/api/v1/auth/me'))
    return record({
      email: user.email,
      user_id: user.id,
      user: userRefOf(user),
      roles,
      system_admin: roles.includes('system_admin'),
      two_factor,
      base_url: baseUrl,
      context: token === undefined ? contextName : null,
    })
  },
})
