import type { Input } from '../../command-line/options.ts'
import { heldPermissionOptions, patchHeldPermissions } from '../../nouns/service-account-permissions.ts'
import type { Result } from '../../output/output.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

export const permitServiceAccount = command({
  path: 'service-account permit',
  summary: 'Give permissions to a service account',
  description: 'Its next machine tokens carry them, at apps whose services declare them. Repeating it changes nothing.',
  examples: [
    'service-account permit billing --permission orders:read',
    'service-account permit billing --permission orders:read orders:refund --json',
    'service-account permit billing --permission orders:read --dry-run',
  ],
  options: heldPermissionOptions,
  run: runPermitServiceAccount,
})

export function runPermitServiceAccount(tools: Tools, input: Input<typeof heldPermissionOptions>): Promise<Result> {
  return patchHeldPermissions(tools, input, { member: 'add', done: 'permitted' })
}
