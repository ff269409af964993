import type { Deps } from '../../deps.ts'
import type { App } from '../../models/app.ts'
import { type TokenSizeWarning, warnOfTokenSize } from '../catalog/warn-of-token-size.ts'
import { getApp } from './get-app.ts'
import { type BypassWarning, warnOfBypass } from './warn-of-bypass.ts'

/** An app, with warnings if its tokens are long, or if users get in whom it would not register. Throws `not_found`. */
export async function showApp(deps: Deps, ref: string): Promise<{ app: App; warnings: (TokenSizeWarning | BypassWarning)[] }> {
  const app = await getApp(deps, ref)
  const bypassed = (await warnOfBypass(deps, app.id)).filter(({ app: code }) => code === app.code)
  return { app, warnings: [...(await warnOfTokenSize(deps, ({ id }) => id === app.id)), ...bypassed] }
}
