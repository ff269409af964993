import { bodyOf } from '../api/api-client.ts'
import { usageFailure } from '../command-line/exit-codes.ts'
import { type Input, type Options, positional, texts } from '../command-line/options.ts'
import { type Result, record } from '../output/output.ts'
import type { Tools } from '../tools/create-tools.ts'
import { getServiceAccount } from './service-account-ref.ts'

/** The options that `service-account permit` and `service-account forbid` share. */
export const heldPermissionOptions = {
  account: positional('ACCOUNT', 'Name or id of the service account'),
  permission: texts('PERMISSION', 'Codes such as orders:read; permission list shows them'),
} satisfies Options

/** Adds or removes permissions in one write. */
export async function patchHeldPermissions(
  { api }: Tools,
  { account, permission }: Input<typeof heldPermissionOptions>,
  change: { member: 'add' | 'remove'; done: 'permitted' | 'forbidden' },
): Promise<Result> {
  if (!permission?.length) throw usageFailure('--permission is required')
  const before = await getServiceAccount(api, account)
  const params = { path: { serviceAccountId: before.id } }
  const body = { [change.member]: [...new Set(permission)] }
  const after = await bodyOf(api.PATCH('/api/v1/admin/service-accounts/{serviceAccountId}/permissions', { params, body }))
  const isUnchanged = JSON.stringify(after.permissions) === JSON.stringify(before.permissions)
  const { id, name, permissions } = after
  return record({ id, name, permissions }, isUnchanged ? 'unchanged' : change.done)
}
