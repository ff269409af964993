import { type Api, bodyOf } from '../api/api-client.ts'
import { usageFailure } from '../command-line/exit-codes.ts'
import { type Input, type Options, positional, texts } from '../command-line/options.ts'
import type { Tools } from '../tools/create-tools.ts'
import { parsePlainName } from './plain-name.ts'

export const roleSubject = positional('CODE', 'Code of the role', { completes: 'roles' })

/** The options that `role permit` and `role forbid` share. */
export const permissionOptions = {
  code: roleSubject,
  permission: texts('PERMISSION', 'Codes such as orders:read; permission list shows them'),
} satisfies Options

export interface Permitted {
  api: Api
  path: { roleCode: string }
  /** As given, without duplicates. */
  permissions: string[]
  /** The permissions that the role has now. */
  held: string[]
}

export async function readPermissionsOf({ api }: Tools, input: Input<typeof permissionOptions>): Promise<Permitted> {
  if (!input.permission?.length) throw usageFailure('--permission is required')
  const path = { roleCode: parsePlainName(input.code, 'role') }
  const { items } = await bodyOf(api.GET('/api/v1/admin/roles/{roleCode}/permissions', { params: { path } }))
  return { api, path, permissions: [...new Set(input.permission)], held: items.map(({ code }) => code) }
}
