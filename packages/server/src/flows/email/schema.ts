import { z } from 'zod'
import { userRecord } from '../../lib/records.ts'
import { mailToken } from '../../mail/fields.ts'

export const verifyEmailBody = z.object({ token: mailToken }).meta({ id: 'VerifyEmail' })
export const verifiedUser = z.object({ user: userRecord })
