import { createHash } from 'node:crypto'
import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError } from '../../errors.ts'
import { logoPath, mostLogoPixels } from '../../lib/brand.ts'
import type { Actor } from '../../lib/caller.ts'
import { readImage } from '../../lib/image.ts'
import { App, AppLogo } from '../../models/app.ts'
import { Generation } from '../../models/generation.ts'
import { recordEvent } from '../audit/record-event.ts'
import { renewCatalog } from '../catalog/catalog.ts'
import { getApp, getAppForUpdate } from './apps.ts'

type Logo = Pick<AppLogo, 'type' | 'image'>

/** Sets the logo of an app, or removes it if there are no bytes. Throws `not_found`, `validation_failed`. */
export async function changeLogo(deps: Deps<Pool>, ref: string, image: Buffer | undefined, actor: Actor): Promise<App> {
  const type = image && assertLogo(image)
  const digest = image ? createHash('sha256').update(image).digest('hex') : null
  return transaction(deps, async (deps) => {
    const app = await getAppForUpdate(deps, ref)
    if (app.logo === digest) return app
    await renewCatalog(deps)
    if (image && type && digest)
      await AppLogo.query(deps.db).insert({ app_id: app.id, digest, type, image }).onConflict('app_id').merge()
    else await AppLogo.remove(deps.db, { app_id: app.id })
    const updated = await App.query(deps.db).patchAndFetchById(app.id, { logo: digest, updated_at: deps.clock() })
    const details = { before: shown(app), after: shown(updated) }
    await recordEvent(deps, { event: 'app.logo_changed', actor, appId: app.id, details })
    return updated
  })
}

function shown({ logo }: App): { logo_path: string | null } {
  return { logo_path: logo && logoPath(logo) }
}

function assertLogo(image: Buffer) {
  const facts = readImage(image)
  if (!facts) throw fieldError('logo', 'invalid_value', 'must be a PNG, JPEG or WebP image')
  if (facts.width > mostLogoPixels || facts.height > mostLogoPixels)
    throw fieldError(
      'logo',
      'too_long',
      `must have at most ${mostLogoPixels.toLocaleString('en')} pixels a side; this one has ${facts.width} × ${facts.height}`,
    )
  return facts.type
}

/** The logo of an app. Throws `not_found` if it has none. */
export async function getLogoOfApp(deps: Deps, ref: string): Promise<Logo> {
  const { logo } = await getApp(deps, ref)
  return getLogo(deps, logo)
}

/** The logo with this digest. Throws `not_found`. */
export async function getLogo(deps: Deps, digest: string | null): Promise<Logo> {
  const logo = digest === null ? undefined : await readLogo(deps, digest)
  if (!logo) throw new ApiError('not_found')
  return logo
}

/** Strangers may ask as often as they like, so an image is read once. Every change of a logo renews the generation. */
async function readLogo(deps: Deps, digest: string): Promise<Logo | undefined> {
  const kept = deps.logoCache.at(await Generation.ofCatalog(deps.db))
  const reading = kept.get(digest) ?? AppLogo.find(deps.db, { digest }).execute()
  kept.set(digest, reading)
  const logo = await reading.catch(() => undefined)
  // What is not there must not push out what is.
  if (!logo) kept.delete(digest)
  return logo ?? reading
}
