import { z } from 'zod'
import { proofFields } from '../../lib/entry-fields.ts'
import { id } from '../../lib/fields.ts'

export const identityParams = z.object({ identityId: id })
export const unlinkBody = z.strictObject(proofFields).meta({ id: 'UnlinkIdentity' })
export type UnlinkInput = z.output<typeof identityParams> & z.output<typeof unlinkBody>
