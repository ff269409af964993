import type { z } from 'zod'
import type { Permission } from '../../models/permission.ts'
import type { permissionRecord } from './schema.ts'

/** A permission as the admin API shows one. */
export function presentPermission(
  permission: Pick<Permission, 'service' | 'code' | 'name' | 'resource' | 'action'>,
): z.output<typeof permissionRecord> {
  const { service, code, name, resource, action } = permission
  return { service, code, name, resource, action }
}
