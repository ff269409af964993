import { z } from 'zod'
import {
  list,
  MAX_NAME,
  MAX_PERMISSIONS,
  name,
  page,
  pageQuery,
  permissionCode,
  queryFlag,
  stableCode,
} from '../../lib/fields.ts'
import { tokenSizeWarnings } from '../../lib/records.ts'

const part = (form: RegExp, characters: string) => z.string().min(1).max(MAX_NAME).regex(form, `may only contain ${characters}`)

const declaredPermission = z
  .strictObject({
    code: permissionCode,
    name,
    resource: part(/^[A-Za-z0-9._*/-]+$/, 'letters, digits, . _ * / and -'),
    action: part(/^[A-Za-z0-9._*/:-]+$/, 'letters, digits, . _ * / : and -'),
  })
  .superRefine(({ code, resource, action }, context) => {
    if (code === `${resource}:${action}`) return
    context.addIssue({
      code: 'custom',
      path: ['code'],
      message: `must be ${resource}:${action}, that is, the resource and the action`,
    })
  })

const declaredPermissions = list(declaredPermission, MAX_PERMISSIONS).superRefine((permissions, context) => {
  const codes = new Set<string>()
  permissions.forEach(({ code }, index) => {
    if (codes.has(code)) context.addIssue({ code: 'custom', path: [index, 'code'], message: 'is already in the list' })
    codes.add(code)
  })
})

export const registerPermissionsBody = z
  .strictObject({
    service: stableCode,
    permissions: declaredPermissions.meta({
      description: 'All permissions of the service. An empty list prunes every permission',
    }),
    revision: z.int().min(0).optional().meta({
      description: 'Increases with each release of the list. A call with a lower one than the newest seen prunes nothing',
    }),
    max_prune: z.int().min(0).optional().meta({ description: 'If more would be pruned, nothing is changed' }),
  })
  .meta({ id: 'RegisterPermissions' })
export type RegisterPermissionsInput = z.output<typeof registerPermissionsBody>

export const registerPermissionsQuery = z.strictObject({
  dry_run: queryFlag.optional().meta({ description: 'Report what would happen without writing anything' }),
})

const permissionMembers = { code: z.string(), name: z.string(), resource: z.string(), action: z.string() }

/** A permission as the admin API shows one. */
export const permissionRecord = z.object({ service: z.string(), ...permissionMembers }).meta({ id: 'Permission' })

export const permissionPage = page(permissionRecord)

export const listPermissionsQuery = z.strictObject({ ...pageQuery, service: stableCode.optional() })

export const registrationRecord = z
  .object({
    service: z.string(),
    created: z.int(),
    updated: z.int().meta({ description: 'Permissions whose name changed' }),
    pruned: z.int(),
    unchanged: z.int(),
    permissions: z.array(z.object(permissionMembers)).meta({ description: 'Permissions that the service has now, by code' }),
    roles: z
      .array(
        z.object({
          code: z.string(),
          permissions: z.array(z.string()),
          user_count: z.int().meta({ description: 'Users who hold the role, including in an organization' }),
        }),
      )
      .optional()
      .meta({ description: 'With `dry_run`: the roles that would lose permissions, and which' }),
    user_count: z.int().optional().meta({ description: 'With `dry_run`: the users who hold any of these roles' }),
    ...tokenSizeWarnings,
  })
  .meta({ id: 'PermissionRegistration' })
