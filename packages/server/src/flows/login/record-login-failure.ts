import type { Deps } from '../../deps.ts'
import type { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import type { CredentialsTry } from '../../resources/lockouts/settle-try.ts'

/** Contract 4.5 step 10: why somebody did not come in, told to the audit alone. */
export async function recordLoginFailure(
  deps: Deps,
  error: ApiError,
  { email, user, app }: CredentialsTry,
  actor: Actor,
): Promise<void> {
  const reason = error.code !== 'invalid_credentials' ? error.code : user ? 'wrong_password' : 'unknown_user'
  const about = { userId: user?.id ?? null, appId: app?.id ?? null }
  await recordEvent(deps, { event: 'login.failed', actor, reason, ...about, details: { email } })
}
