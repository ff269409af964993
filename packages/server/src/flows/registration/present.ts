import type { Membership, TokenAnswer, UserRecord } from '../../lib/records.ts'
import { presentAppRef } from '../../resources/apps/present.ts'
import type { RegistrationAnswer } from './schema.ts'

/** The answer of a registration, for a new user and an existing one. */
export function presentRegistration(input: {
  created: boolean
  user: UserRecord
  app: { id: string; code: string }
  access: RegistrationAnswer['access']
  organization: Membership | null
  tokens: TokenAnswer | undefined
  enrollment_url?: string
}): RegistrationAnswer {
  const { tokens, enrollment_url } = input
  return {
    created: input.created,
    user: input.user,
    app: presentAppRef(input.app),
    access: input.access,
    organization: input.organization,
    ...(enrollment_url !== undefined && { enrollment_url }),
    ...(tokens && {
      token_type: tokens.token_type,
      access_token: tokens.access_token,
      expires_in: tokens.expires_in,
      refresh_token: tokens.refresh_token,
      refresh_expires_in: tokens.refresh_expires_in,
      device_token: tokens.device_token,
    }),
  }
}
