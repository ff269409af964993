import { type Api, bodyOf } from '../api/api-client.ts'
import { positional } from '../command-line/options.ts'
import { type Outcome, record } from '../output/render.ts'
import { type Command, command, type Wording } from '../tools/command.ts'
import type { StatusNoun } from '../tools/subject-commands.ts'
import { findUserId, userRefSyntax } from './user-ref.ts'

export const userSubject = positional('USER', userRefSyntax)

export const userStatus: StatusNoun<'active' | 'suspended'> = {
  subject: userSubject,
  async find(api, typed) {
    const path = { userId: await findUserId(api, typed) }
    const before = await bodyOf(api.GET('/api/v1/admin/users/{userId}', { params: { path } }))
    return {
      before,
      write: (status) => bodyOf(api.PATCH('/api/v1/admin/users/{userId}', { params: { path }, body: { status } })),
    }
  },
}

interface UserActionSpec extends Wording {
  outcome: Outcome
  /** Says what the action does not change, and which command does. */
  advice?: (user: string) => string
  act(api: Api, path: { userId: string }): Promise<unknown>
}

/** A command for an action on a user for which the service returns no record. */
export function userActionCommand({ outcome, advice, act, ...wording }: UserActionSpec): Command {
  return command({
    ...wording,
    options: { user: userSubject },
    async run({ api, io }, { user }) {
      const userId = await findUserId(api, user)
      await act(api, { userId })
      if (advice) io.note(advice(user))
      return record({ user_id: userId }, outcome)
    },
  })
}
