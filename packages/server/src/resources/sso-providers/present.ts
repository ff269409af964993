import type { z } from 'zod'
import { iso } from '../../lib/timestamps.ts'
import type { SsoProvider } from '../../models/sso-provider.ts'
import type { providerRecord } from './schema.ts'

/** Where a provider sends browsers back to. Each provider has a different path, so one's answer cannot pass for another's. */
export function callbackUrlOf(publicUrl: string, code: string): string {
  return `${publicUrl}/api/v1/auth/sso/${code}/callback`
}

/** A provider as every answer and audit event shows one: its secret is never read back. */
export function presentProvider(provider: SsoProvider, publicUrl: string): z.output<typeof providerRecord> {
  return {
    id: provider.id,
    code: provider.code,
    issuer: provider.issuer,
    client_id: provider.client_id,
    has_client_secret: true,
    scopes: provider.scopes,
    app_codes: provider.app_codes,
    trusted_email_domains: provider.trusted_email_domains,
    trusted_for_two_factor: provider.trusted_for_two_factor,
    enabled: provider.enabled,
    callback_url: callbackUrlOf(publicUrl, provider.code),
    created_at: iso(provider.created_at),
    updated_at: iso(provider.updated_at),
  }
}
