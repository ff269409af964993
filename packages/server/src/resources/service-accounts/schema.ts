import { z } from 'zod'
import { serviceScopes } from '../../lib/authority.ts'
import {
  clearable,
  id,
  list,
  moment,
  name,
  newAppCode,
  page,
  pageQuery,
  shownOnce,
  stableCode,
  timestamp,
} from '../../lib/fields.ts'

export const serviceAccountParams = z.object({ serviceAccountId: id })

const scope = z.enum(serviceScopes)

export const createServiceAccountBody = z
  .strictObject({
    name,
    service: stableCode.meta({ description: 'The service whose permissions it may register' }),
    scopes: clearable(list(scope)).meta({ description: '`permissions:register` unless told' }),
    app_codes: clearable(list(newAppCode)).meta({
      description: 'The apps that its scopes hold for. Every scope but `permissions:register` needs one; each must exist',
    }),
    expires_at: clearable(moment).meta({ description: 'When its token ends; never unless told' }),
  })
  .meta({ id: 'CreateServiceAccount' })
export type ServiceAccountInput = z.output<typeof createServiceAccountBody>

export const listServiceAccountsQuery = z.strictObject({ ...pageQuery, service: stableCode.optional() })

export const serviceAccountRecord = z
  .object({
    id,
    name: z.string(),
    service: z.string(),
    scopes: z.array(scope),
    app_codes: z.array(z.string()).meta({
      description:
        'Sorted. Every scope but `permissions:register` holds for these apps alone; a deleted app leaves the list for good',
    }),
    expires_at: timestamp.nullable(),
    last_used_at: timestamp.nullable().meta({ description: 'Exact to a minute; null when it was never used' }),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'ServiceAccount' })

export const serviceAccountPage = page(serviceAccountRecord)

export const serviceAccountWithToken = serviceAccountRecord
  .extend({ token: shownOnce('The bearer token; shown this once') })
  .meta({ id: 'ServiceAccountWithToken' })
