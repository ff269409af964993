import type { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { findsPieces } from '../../models/list-query.ts'
import { countPasskeysElsewhere } from '../passkeys/passkeys.ts'
import type { settingsRecord } from './schema.ts'

/** The settings that an admin needs to judge apps, and whether data fits them. */
export async function getSettings(deps: Deps): Promise<z.output<typeof settingsRecord>> {
  const { production, publicUrl, clientOverrides, adminAppCodes } = deps.config
  return {
    production,
    public_url: publicUrl,
    client_overrides: clientOverrides,
    passkeys_elsewhere: await countPasskeysElsewhere(deps),
    finds_inside: await findsPieces(deps.db),
    admin_app_codes: adminAppCodes,
  }
}
