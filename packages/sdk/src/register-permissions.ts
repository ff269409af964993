import { callPatiently, type Timer, unref } from './call-service.ts'
import type { Config, RegistrationCounts } from './config.ts'
import { type AuthError, invalidSettings } from './errors.ts'

/** The platform's own `AbortSignal`, in whatever types the app has of it. */
type Signal = typeof globalThis extends { AbortSignal: { prototype: infer Known } } ? Known : { readonly aborted: boolean }

/** How the permissions of the manifest are registered at the service; docs/permissions.md#with-the-sdk says what it does. */
export interface RegistrationOptions {
  /**
   * `background` (default): goes on trying while the service is away, 1 to 60 s apart, and neither throws nor keeps the process alive.
   * `require`: `ready` rejects within 5 s when the service does not take them.
   */
  readonly mode?: 'background' | 'require'
  /** When more permissions would be pruned, nothing is done and `ready` rejects with `PRUNE_LIMIT`. */
  readonly maxPrune?: number
  /** Grows with each release: a list with a lower one than the newest seen prunes nothing. */
  readonly revision?: number
  /** Ends the registration; `ready` then rejects with its reason. */
  readonly signal?: Signal
}

export interface Registration {
  /**
   * Resolves when the service has taken the permissions. Rejects with an `AuthError` when it refuses them; in `background` nobody
   * need listen. While it is waited for, it keeps the process alive.
   */
  readonly ready: Promise<RegistrationCounts>
}

/** The whole time of `require`, in milliseconds: a little less than the 5 s that it promises. */
const REQUIRE_MS = 4_500

export interface RunningRegistration extends Registration {
  readonly state: 'off' | 'pending' | 'registered' | 'rejected'
}

/** Begins at once, and goes on until the service has answered or `signal` or `auth.close()` ends it. */
export function startRegistration(
  config: Config,
  { mode, maxPrune, revision, signal }: RegistrationOptions = {},
): RunningRegistration {
  const { tell, warn, closing, permissions: manifest, serviceToken: token } = config
  const ended = AbortSignal.any([closing.signal, signal ?? closing.signal])
  let state: RunningRegistration['state'] = 'pending'
  let isAwaited = false
  let wait: Timer | undefined
  let toldReason: string | undefined

  const onWait = (error: AuthError, retryInMs: number, timer: Timer) => {
    wait = isAwaited ? timer : unref(timer)
    const reason = error.hint!
    warn(`registration: ${reason}`, `the permissions are not registered yet: ${reason}`)
    if (reason !== toldReason) tell({ type: 'registration.delayed', reason, retryInMs })
    toldReason = reason
  }
  const register = async () => {
    try {
      if (!manifest || !token) throw invalidSettings(`${manifest ? 'SERVICE_ACCOUNT_TOKEN' : 'permissions'} is missing`)
      const permissions = Object.entries(manifest.permissions).map(([code, name]) => {
        const colon = code.indexOf(':')
        return { code, name, resource: code.slice(0, colon), action: code.slice(colon + 1) }
      })
      const body = { service: manifest.service, permissions, revision, max_prune: maxPrune }
      const { created, updated, pruned, unchanged } = await callPatiently<RegistrationCounts>(
        config,
        { path: '/admin/permissions/register', body, token, signal: ended },
        mode === 'require' ? REQUIRE_MS : undefined,
        undefined,
        onWait,
      )
      const counts = { created, updated, pruned, unchanged }
      state = 'registered'
      tell({ type: 'registration.registered', ...counts })
      return counts
    } catch (error) {
      state = ended.aborted ? 'off' : 'rejected'
      if (!ended.aborted) {
        const { hint, requestId } = error as AuthError
        warn('registration', `the permissions are not registered: ${hint}${requestId ? ` (request ${requestId})` : ''}`)
        tell({ type: 'registration.rejected', error: error as AuthError })
      }
      throw error
    }
  }
  const ready = register()
  // Listening is optional. A caller that requires the registration gets the error in any case.
  if (mode !== 'require') ready.catch(() => {})

  return {
    get state() {
      return state
    },
    get ready() {
      isAwaited = true
      wait?.ref?.()
      return ready
    },
  }
}
