import { z } from 'zod'
import { serviceScopes } from '../../lib/authority.ts'
import {
  clearable,
  id,
  list,
  MAX_PERMISSIONS,
  moment,
  name,
  newAppCode,
  page,
  pageQuery,
  shownOnce,
  stableCode,
  text,
  timestamp,
} from '../../lib/fields.ts'

const scope = z.enum(serviceScopes)

const settings = {
  app_codes: clearable(list(newAppCode)).meta({
    description:
      'The apps that its scopes apply to. Every scope except `permissions:register` and those of `admin:` needs at least one; each must exist',
  }),
  expires_at: clearable(moment).meta({ description: 'When its token expires. Default: never' }),
}

export const createServiceAccountBody = z
  .strictObject({
    name,
    service: stableCode.meta({ description: 'The service whose permissions it may register' }),
    scopes: clearable(list(scope)).meta({ description: 'Default: `permissions:register`' }),
    ...settings,
  })
  .meta({ id: 'CreateServiceAccount' })
export type ServiceAccountInput = z.output<typeof createServiceAccountBody>

export const updateServiceAccountBody = z
  .strictObject({
    name: name.optional(),
    scopes: clearable(list(scope)).meta({ description: 'Replaces all of them. Null means `permissions:register`' }),
    ...settings,
  })
  .meta({ id: 'UpdateServiceAccount' })
export type UpdateServiceAccountInput = z.output<typeof updateServiceAccountBody>

const codes = list(text, MAX_PERMISSIONS).optional()

export const patchPermissionsBody = z
  .strictObject({
    add: codes.meta({ description: 'Codes: `resource:action`' }),
    remove: codes.meta({ description: 'Codes. None may also be in `add`' }),
  })
  .refine(({ add = [], remove = [] }) => !add.some((code) => remove.includes(code)), {
    path: ['remove'],
    message: 'contains a code that is also in add',
  })
  .meta({ id: 'PatchPermissions' })

export const listServiceAccountsQuery = z.strictObject({ ...pageQuery, service: stableCode.optional() })

export const serviceAccountRecord = z
  .object({
    id,
    name: z.string(),
    service: z.string(),
    scopes: z.array(scope),
    app_codes: z.array(z.string()).meta({
      description:
        'Sorted. Every scope except `permissions:register` and those of `admin:` only applies to these apps. A deleted app leaves the list for good',
    }),
    permissions: z.array(z.string()).meta({
      description: 'Sorted. Its machine tokens carry those that the services of the app declare. Its own token carries none',
    }),
    expires_at: timestamp.nullable(),
    last_used_at: timestamp.nullable().meta({ description: 'Exact to a minute. Null if it was never used' }),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'ServiceAccount' })

export const serviceAccountPage = page(serviceAccountRecord)

export const serviceAccountWithToken = serviceAccountRecord
  .extend({ token: shownOnce('The bearer token. Shown only once') })
  .meta({ id: 'ServiceAccountWithToken' })
