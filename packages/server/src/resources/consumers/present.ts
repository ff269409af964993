import type { z } from 'zod'
import { iso, isoOrNull } from '../../lib/timestamps.ts'
import type { secretsRecord } from './schema.ts'

interface Secrets {
  serviceId: string
  /** Key ids of the server's own secrets. */
  current: string
  previous: string | undefined
  signingSince: number
  accessTokenSeconds: number
  seen: readonly {
    appCode: string
    signing: 'shared' | 'own'
    kid: string | null
    isOurs: boolean
    lastSeenAt: number
    lastMissingAt: number | null
  }[]
}

export function presentSecrets({
  serviceId,
  current,
  previous,
  signingSince,
  accessTokenSeconds,
  seen,
}: Secrets): z.output<typeof secretsRecord> {
  return {
    service_id: serviceId,
    current: { kid: current },
    previous: previous === undefined ? null : { kid: previous },
    signing_since: iso(signingSince),
    access_token_seconds: accessTokenSeconds,
    consumers: seen.map(({ appCode, signing, kid, isOurs, lastSeenAt, lastMissingAt }) => ({
      app_code: appCode,
      signing,
      kid,
      is_ours: isOurs,
      last_seen_at: iso(lastSeenAt),
      last_missing_at: isoOrNull(lastMissingAt),
    })),
  }
}
