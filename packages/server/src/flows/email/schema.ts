import { z } from 'zod'
import { mailToken } from '../../lib/mail-fields.ts'
import { userRecord } from '../../lib/records.ts'

export const verifyEmailBody = z.object({ token: mailToken }).meta({ id: 'VerifyEmail' })
export const verifiedUser = z.object({ user: userRecord })
