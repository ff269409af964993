import { z } from 'zod'
import { optionalField } from '../../lib/entry-fields.ts'
import { id, text } from '../../lib/fields.ts'

export { tokenAnswer } from '../../lib/records.ts'

/** A token that is not ours is answered as unknown, not as malformed. */
const refreshToken = text.min(1)

export const refreshBody = z.object({ refresh_token: refreshToken, organization_id: optionalField(id) }).meta({ id: 'Refresh' })
export type RefreshInput = z.output<typeof refreshBody>

export const logoutBody = z.object({ refresh_token: refreshToken }).meta({ id: 'Logout' })
