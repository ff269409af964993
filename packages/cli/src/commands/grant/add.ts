import { parseAppRef } from '../../app-ref.ts'
import { command } from '../../command.ts'
import { parseMoment } from '../../duration.ts'
import { Failure } from '../../exit-codes.ts'
import type { Tools } from '../../factory.ts'
import { type Input, requiredText, text } from '../../options.ts'
import { type Result, record } from '../../output.ts'
import { findUserId, userRefSyntax } from '../../user-ref.ts'

const options = {
  app: requiredText('CODE', 'Code or id of the app', { completes: 'apps' }),
  user: requiredText('USER', `Who: ${userRefSyntax}`),
  expires: text('TIME', 'When the access ends: 2027-01-31, 2027-01-31T18:00:00Z, or 30d from now'),
}

export const addGrant = command({
  path: 'grant add',
  summary: 'Let a user enter an app',
  description: 'A revoked grant becomes active again; its old tokens stay dead.',
  examples: [
    'grant add --app shop --user bob@example.com',
    'grant add --app shop --user bob@example.com@@staff --expires 30d --reason "audit in March"',
    'grant add --app shop --user 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f --json',
  ],
  options,
  run: runAddGrant,
})

export async function runAddGrant({ api, settings, now }: Tools, input: Input<typeof options>): Promise<Result> {
  const appId = parseAppRef(input.app)
  const expires_at = input.expires === undefined ? undefined : parseMoment(input.expires, now())
  if (input.expires !== undefined && expires_at === undefined) {
    throw new Failure('invalid', `--expires ${input.expires} is no time`, {
      code: 'invalid_time',
      hint: 'such as 2027-01-31, 2027-01-31T18:00:00Z or 30d',
    })
  }
  const userId = await findUserId(api, input.user)
  const body = {
    ...(expires_at === undefined ? {} : { expires_at }),
    ...(settings.reason === undefined ? {} : { reason: settings.reason }),
  }
  const { data, response } = await api.POST('/api/v1/admin/users/{userId}/apps/{appId}', {
    params: { path: { userId, appId } },
    body,
  })
  return record(data!, response.status === 201 ? 'granted' : Object.keys(body).length > 0 ? 'updated' : 'unchanged')
}
