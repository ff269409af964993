import { z } from 'zod'
import { appCode, clearable, email, id, list, MAX_LIST, page, shownOnce, text, timestamp } from '../../lib/fields.ts'
import { organizationRecord } from '../../lib/records.ts'

const maxSeconds = 90 * 24 * 60 * 60

export const createInvitationBody = z
  .strictObject({
    email: clearable(email).meta({
      description: 'Only the user with this address may accept. If omitted, anyone with the token may',
    }),
    // Takes any text. The use-case checks all elements against the existing roles at once.
    role_codes: list(text, MAX_LIST, 1).meta({ description: 'Org-scoped roles of the membership' }),
    app_code: clearable(appCode).meta({
      description: 'The app whose frontend the link leads to. Also granted if a system_admin invites',
    }),
    expires_in_seconds: clearable(z.int().min(1).max(maxSeconds)).meta({ description: 'Default: 7 days. At most 90 days' }),
  })
  .meta({ id: 'CreateInvitation' })
export type CreateInvitationInput = z.output<typeof createInvitationBody>

export const invitationRecord = z
  .object({
    id,
    organization_id: id,
    email: z.string().nullable(),
    role_codes: z.array(z.string()),
    app_code: z.string().nullable(),
    grants_app: z.boolean().meta({ description: 'Whether accepting grants the app, which is so if a system_admin invited' }),
    status: z.enum(['pending', 'accepted', 'expired']),
    invited_by: id.nullable(),
    created_at: timestamp,
    expires_at: timestamp,
    accepted_at: timestamp.nullable(),
    accepted_by: id.nullable(),
  })
  .meta({ id: 'Invitation' })

const secret = shownOnce('Shown only once. `token` and `code` are the same value')
export const createdInvitation = invitationRecord.extend({ token: secret, code: secret }).meta({ id: 'CreatedInvitation' })

export const invitationPage = page(invitationRecord)
export const acceptInvitationBody = z.object({ token: text.min(1) }).meta({ id: 'AcceptInvitation' })
export const acceptedInvitation = z.object({ organization: organizationRecord })
