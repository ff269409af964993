import { z } from 'zod'
import { passwordProofFields } from '../../lib/entry-fields.ts'
import { locale, name } from '../../lib/fields.ts'
import { appRefRecord, organizationRecord, shownLocale, userRecord } from '../../lib/records.ts'
import { mailToken } from '../../mail/fields.ts'

/** A user's own account, as the user sees it. */
export const profile = z
  .object({
    user: userRecord,
    app: appRefRecord.nullable(),
    roles: z.array(z.string()),
    permissions: z.array(z.string()),
    organizations: z.array(organizationRecord),
    locale: shownLocale,
    two_factor: z.boolean().meta({ description: 'Whether a second factor is active' }),
  })
  .meta({ id: 'Profile' })
export type Profile = z.output<typeof profile>

/** A user who empties the field of a form clears it. */
function ownField<T extends z.ZodType>(schema: T, description = '') {
  return z
    .preprocess((value) => (typeof value === 'string' && value.trim() === '' ? null : value), schema.nullable())
    .optional()
    .meta({ description: `${description}null or blank text clears it` })
}

export const updateSelfBody = z
  .strictObject({
    first_name: ownField(name),
    last_name: ownField(name),
    locale: ownField(locale, 'The language that you read, as a BCP 47 tag such as `de` or `pt-BR`. '),
  })
  .meta({ id: 'UpdateProfile' })
export type UpdateSelfInput = z.output<typeof updateSelfBody>

export const deleteSelfBody = z.strictObject(passwordProofFields).meta({ id: 'DeleteOwnAccount' })
export type DeleteSelfInput = z.output<typeof deleteSelfBody>
export const deletionMailed = z.object({})
export const confirmDeletionBody = z.object({ token: mailToken }).meta({ id: 'ConfirmDeletion' })
