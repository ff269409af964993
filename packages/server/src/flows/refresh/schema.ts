import { z } from 'zod'
import { optionalField } from '../../lib/entry-fields.ts'
import { id } from '../../lib/fields.ts'

export { tokenAnswer } from '../../lib/records.ts'

const refreshToken = z.string().min(1).max(500)

export const refreshBody = z.object({ refresh_token: refreshToken, organization_id: optionalField(id) }).meta({ id: 'Refresh' })
export type RefreshInput = z.output<typeof refreshBody>

export const logoutBody = z.object({ refresh_token: refreshToken }).meta({ id: 'Logout' })
