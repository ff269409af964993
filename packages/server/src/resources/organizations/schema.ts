import { z } from 'zod'
import {
  clearable,
  id,
  indexedSearchQuery,
  list,
  MAX_LIST,
  name,
  newAppCode,
  page,
  pageQuery,
  text,
  timestamp,
} from '../../lib/fields.ts'
import { accountWarnings, userRecord } from '../../lib/records.ts'

export const organizationParams = z.object({ organizationId: id })
export const memberParams = z.object({ organizationId: id, userId: id })

/** In the form of an app's code. */
const slug = newAppCode

export const createOrganizationBody = z
  .strictObject({ name, slug: clearable(slug).meta({ description: 'Default: derived from the name' }) })
  .meta({ id: 'CreateOrganization' })
export type CreateOrganizationInput = z.output<typeof createOrganizationBody>

export const updateOrganizationBody = z
  .strictObject({ name: name.optional(), slug: slug.optional() })
  .meta({ id: 'UpdateOrganization' })
export type UpdateOrganizationInput = z.output<typeof updateOrganizationBody>

export const listOrganizationsQuery = z.strictObject({ ...pageQuery, q: indexedSearchQuery })

/** An organization as the admin API shows one. */
export const organizationDetail = z
  .object({ id, slug: z.string(), name: z.string(), created_at: timestamp, updated_at: timestamp })
  .meta({ id: 'Organization' })

export const organizationPage = page(organizationDetail)

export const putMemberBody = z
  .strictObject({
    // Takes any text. The use-case checks all elements against the existing roles at once.
    role_codes: list(text, MAX_LIST, 1).meta({ description: 'Org-scoped roles. They replace the current ones' }),
  })
  .meta({ id: 'PutMember' })

/** A user as a member of one organization. */
export const memberRecord = userRecord.extend({ role_codes: z.array(z.string()), joined_at: timestamp }).meta({ id: 'Member' })

/** A member in the answer to the admin who put it. */
export const putMemberRecord = memberRecord.extend(accountWarnings).meta({ id: 'PutMemberAnswer' })

/** A member as the org_admins of the organization see one. */
export const fellowMemberRecord = userRecord
  .pick({ id: true, email: true, first_name: true, last_name: true })
  .extend({ role_codes: z.array(z.string()) })
  .meta({ id: 'FellowMember' })

export const memberPage = page(memberRecord)
export const fellowMemberPage = page(fellowMemberRecord)
export const listMembersQuery = z.strictObject(pageQuery)
