import { z } from 'zod'
import { clearable, id, name, page, pageByNameQuery, permissionCode, roleCode, text, timestamp } from '../../lib/fields.ts'

import { accountWarnings, tokenSizeWarnings } from '../../lib/records.ts'

export { userParams } from '../../lib/fields.ts'
export { permissionCodesBody } from '../../lib/records.ts'

export const roleParams = z.object({ roleCode })
export const userRoleParams = z.object({ userId: id, roleCode })
export const rolePermissionParams = z.object({
  roleCode,
  permission: permissionCode,
})

const scope = z.enum(['global', 'org']).meta({
  description: '`global`: held by users everywhere; `org`: held by members of an organization, only there',
})

const assignableBy = z.enum(['system_admin', 'org_admin']).meta({
  description:
    'Who may give and remove an org-scoped role: `org_admin`s in their organization, or only a `system_admin`, who always may',
})

/** The only role in tokens of service accounts. */
const reservedCode = 'service'

export const createRoleBody = z
  .strictObject({
    code: roleCode.refine((code) => code !== reservedCode, 'is reserved'),
    name,
    scope,
    description: clearable(text),
    assignable_by: assignableBy.optional(),
  })
  .meta({ id: 'CreateRole' })
export type CreateRoleInput = z.output<typeof createRoleBody>

export const updateRoleBody = z
  .strictObject({
    name: name.optional(),
    description: clearable(text),
    assignable_by: assignableBy.optional(),
    scope: scope.optional().meta({ description: 'Must be the current scope: a scope never changes' }),
  })
  .meta({ id: 'UpdateRole' })
export type UpdateRoleInput = z.output<typeof updateRoleBody>

export const listRolesQuery = z.strictObject(pageByNameQuery)

const roleMembers = {
  code: z.string(),
  name: z.string(),
  scope,
  description: z.string().nullable(),
  built_in: z.boolean(),
  assignable_by: assignableBy,
}

export const roleRecord = z.object({ ...roleMembers, created_at: timestamp, updated_at: timestamp }).meta({ id: 'Role' })

export const rolePage = page(roleRecord)

export const rolePermissionList = z
  .object({ items: z.array(z.object({ code: z.string(), service: z.string() })) })
  .meta({ id: 'RolePermissions' })

/** The permissions of a role in the answer to the caller who changed them, with warnings. */
export const changedRolePermissions = rolePermissionList.extend(tokenSizeWarnings).meta({ id: 'ChangedRolePermissions' })

export const assignRoleBody = z.strictObject({ role_code: text }).meta({ id: 'AssignRole' })

export const userRoleRecord = z.object({ ...roleMembers, assigned_at: timestamp }).meta({ id: 'UserRole' })

/** A role of a user in the answer to the admin who gave it, with warnings. */
export const givenUserRole = userRoleRecord.extend(accountWarnings).meta({ id: 'GivenUserRole' })

export const userRoleList = z.object({ items: z.array(userRoleRecord) })
