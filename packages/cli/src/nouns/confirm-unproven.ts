import { bodyOf } from '../api/api-client.ts'
import { confirmYes } from '../terminal/prompt.ts'
import type { Tools } from '../tools/create-tools.ts'

/**
 * On a terminal, asks before it gives something to an account that was registered by its user or a provider and whose address was
 * never verified: the address may belong to another person. A script is not asked; the answer warns it.
 */
export async function confirmUnproven(tools: Tools, userId: string): Promise<void> {
  const { api, io, settings } = tools
  if (!io.canAsk || settings.yes || settings.dryRun) return
  const user = await bodyOf(api.GET('/api/v1/admin/users/{userId}', { params: { path: { userId } } }))
  const isUnproven = !user.email_verified && (user.made_by === 'self' || user.made_by === 'provider')
  if (isUnproven) await confirmYes(tools, `give this to ${user.email}, an unverified address`)
}
