import type { TokenAnswer } from '../../lib/records.ts'
import { presentAppRef } from '../apps/present.ts'
import type { PooledUser } from '../users/present.ts'
import { presentUser } from '../users/present.ts'

/** The answer of every call that gives tokens. Lifetimes are in seconds. */
export function presentTokens(input: {
  admission: { user: PooledUser; app: { id: string; code: string } | null; membership: TokenAnswer['organization'] }
  accessToken: string
  expiresIn: number
  refreshToken: string
  refreshExpiresIn: number
  deviceToken: string | undefined
}): TokenAnswer {
  const { user, app, membership } = input.admission
  return {
    token_type: 'Bearer',
    access_token: input.accessToken,
    expires_in: input.expiresIn,
    refresh_token: input.refreshToken,
    refresh_expires_in: input.refreshExpiresIn,
    ...(input.deviceToken === undefined ? {} : { device_token: input.deviceToken }),
    user: presentUser(user),
    app: app ? presentAppRef(app) : null,
    organization: membership,
  } as TokenAnswer
}
