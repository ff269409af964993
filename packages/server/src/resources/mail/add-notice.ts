import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { preferredLocale } from '../../lib/locale.ts'
import { addMail } from './add-mail.ts'
import type { NoticePayload, NoticePurpose } from './token-purpose.ts'

interface NoticeAbout {
  user: { id: string; email: string }
  appId?: string | null
  /** The code of the provider, for a change of identities. */
  provider?: string | null
}

/**
 * Queues a mail to a user about a change to what protects the account. For a change by an administrator, it shows neither IP
 * address nor user agent.
 */
export async function addNotice(
  deps: Deps<Tx>,
  purpose: NoticePurpose,
  { user, appId, provider = null }: NoticeAbout,
  { caller, origin }: Actor,
): Promise<void> {
  const isOwn = caller === undefined || (caller.kind === 'user' && caller.userId === user.id)
  const payload: NoticePayload = {
    at: deps.clock(),
    ip: isOwn ? origin.ip || null : null,
    user_agent: isOwn ? origin.userAgent : null,
    locale: isOwn ? preferredLocale(origin.languages ?? '') : undefined,
    provider,
  }
  const through = isOwn && caller?.kind === 'user' ? caller.appId : null
  await addMail(
    deps,
    { name: purpose, app_id: appId ?? through, user_id: user.id, destination: user.email, priority: 1 },
    payload,
  )
}
