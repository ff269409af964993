import type { z } from 'zod'
import { blankBrand, logoPath } from '../../lib/brand.ts'
import { present } from '../../lib/records.ts'
import { iso, isoOrNull } from '../../lib/timestamps.ts'
import type { App } from '../../models/app.ts'
import { appRecord, type signingRecord } from './schema.ts'

const defaultMembershipRole = 'org_member'

/** The role that auto-provisioning gives in the default organization; null without one. */
export function membershipRoleOf(app: Pick<App, 'default_organization_id' | 'default_role_code'>): string | null {
  return app.default_organization_id === null ? null : (app.default_role_code ?? defaultMembershipRole)
}

/** The full record of an app, as in every admin answer. */
export function presentApp(app: App): z.output<typeof appRecord> {
  return present(appRecord, {
    ...app,
    default_role_code: membershipRoleOf(app),
    webhooks: app.webhooks.map(({ name, url, events, enabled, secret_box }) => {
      return { name, url, events, enabled, has_secret: secret_box !== null }
    }),
    require_two_factor_from: isoOrNull(app.require_two_factor_from),
    brand: { ...blankBrand, ...app.brand },
    logo_path: app.logo && logoPath(app.logo),
  })
}

/** The keys of an app, and how far a key change has got. */
export interface Signing {
  app: App
  /** prepared: the next key is accepted. switched: it signs, and the old one is still accepted. */
  state: 'settled' | 'prepared' | 'switched'
  /** The key that signs comes first. */
  keys: { kid: string; stage: 'next' | 'current' | 'previous'; source: 'own' | 'shared'; since: number | null }[]
  /** When the current key began to sign; null unless the previous key is still accepted. */
  switchedAt: number | null
  /** When a consumer was last seen without the newest key, and with it; undefined if none was recently seen without it. */
  behind: { behindSeenAt: number; currentSeenAt: number | null } | undefined
}

export function presentSigning(
  { app, state, keys, switchedAt, behind }: Signing,
  accessTokenSeconds: number,
): z.output<typeof signingRecord> {
  return {
    app_code: app.code,
    signing: app.signing,
    state,
    keys: keys.map(({ since, ...key }) => ({ ...key, since: isoOrNull(since) })),
    consumers_behind: behind ? { seen_at: iso(behind.behindSeenAt), accepting_seen_at: isoOrNull(behind.currentSeenAt) } : null,
    old_tokens_until: isoOrNull(switchedAt === null ? null : switchedAt + accessTokenSeconds * 1_000),
  }
}

/** The record of an app, with `warnings` if there are any. */
export function presentAppWith<W>(app: App, warnings: readonly W[]): z.output<typeof appRecord> & { warnings?: W[] } {
  return { ...presentApp(app), ...(warnings.length > 0 ? { warnings: [...warnings] } : {}) }
}

/** The short form of an app in answers to users. */
export function presentAppRef(app: Pick<App, 'id' | 'code'>): { id: string; code: string } {
  return { id: app.id, code: app.code }
}
