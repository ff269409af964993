import type { Deps } from '../../deps.ts'
import type { App } from '../../models/app.ts'
import { type TokenSizeWarning, warnOfTokenSize } from '../catalog/warn-of-token-size.ts'
import { getApp } from './get-app.ts'

/** An app, with a warning if its tokens are long. Throws `not_found`. */
export async function showApp(deps: Deps, ref: string): Promise<{ app: App; warnings: TokenSizeWarning[] }> {
  const app = await getApp(deps, ref)
  return { app, warnings: await warnOfTokenSize(deps, ({ id }) => id === app.id) }
}
