import type { z } from 'zod'
import { iso, isoOrNull } from '../../lib/timestamps.ts'
import type { ServiceAccount } from '../../models/service-account.ts'
import type { serviceAccountRecord } from './schema.ts'

/** A service account as every answer and audit event shows one: without token or hash. */
export function presentServiceAccount(account: ServiceAccount): z.output<typeof serviceAccountRecord> {
  return {
    id: account.id,
    name: account.name,
    service: account.service,
    scopes: account.scopes,
    app_codes: account.apps.map(({ code }) => code),
    permissions: account.permissions.map(({ code }) => code),
    expires_at: isoOrNull(account.expires_at),
    last_used_at: isoOrNull(account.last_used_at),
    created_at: iso(account.created_at),
    updated_at: iso(account.updated_at),
  }
}
