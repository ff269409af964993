import type { z } from 'zod'
import type { settingsRecord } from './schema.ts'

/** The settings that an admin needs to judge apps. */
export function presentSettings(
  config: {
    production: boolean
    publicUrl: string
    clientOverrides: 'open' | 'declared'
    adminAppCodes: string[]
  },
  passkeysElsewhere: number,
): z.output<typeof settingsRecord> {
  return {
    production: config.production,
    public_url: config.publicUrl,
    client_overrides: config.clientOverrides,
    passkeys_elsewhere: passkeysElsewhere,
    admin_app_codes: config.adminAppCodes,
  }
}
