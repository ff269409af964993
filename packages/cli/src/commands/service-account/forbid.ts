import type { Input } from '../../command-line/options.ts'
import { heldPermissionOptions, patchHeldPermissions } from '../../nouns/service-account-permissions.ts'
import type { Result } from '../../output/output.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

export const forbidServiceAccount = command({
  path: 'service-account forbid',
  summary: 'Remove permissions from a service account',
  description: 'Its machine tokens stop working at once, at every app. Permissions that it does not have change nothing.',
  examples: [
    'service-account forbid billing --permission orders:read',
    'service-account forbid billing --permission orders:read orders:refund --json',
    'service-account forbid billing --permission orders:read --dry-run',
  ],
  options: heldPermissionOptions,
  run: runForbidServiceAccount,
})

export function runForbidServiceAccount(tools: Tools, input: Input<typeof heldPermissionOptions>): Promise<Result> {
  return patchHeldPermissions(tools, input, { member: 'remove', done: 'forbidden' })
}
