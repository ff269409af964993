import { callPatiently } from './call-patiently.ts'
import { type Timer, unref } from './call-service.ts'
import { type Config, lacking, type RegistrationCounts } from './config.ts'
import { type AuthError, invalidSettings } from './errors.ts'

/** The type of the platform's `AbortSignal`, from the type library that the app uses. */
type Signal = typeof globalThis extends { AbortSignal: { prototype: infer Known } } ? Known : { readonly aborted: boolean }

/** The options of `registerPermissions`; docs/guard-a-backend/permissions.md#with-the-sdk describes the registration. */
export interface RegistrationOptions {
  /**
   * `background` (default): retries while the service is down, 1 to 60 s apart. You may ignore a failure, and waiting for the
   * next try does not keep the process alive. `require`: `ready` rejects within 5 s unless the service has accepted the
   * permissions.
   */
  readonly mode?: 'background' | 'require'
  /**
   * The most permissions that may be pruned (default no limit). If more would be, nothing is changed and `ready` rejects with
   * `PRUNE_LIMIT`.
   */
  readonly maxPrune?: number
  /** A number that grows with each release. A list with a lower one than the newest seen prunes nothing. */
  readonly revision?: number
  /** Aborts the registration. `ready` then rejects with the signal's reason. */
  readonly signal?: Signal
}

/** A registration that is under way or has ended. */
export interface Registration {
  /**
   * Resolves to the counts when the service has accepted the permissions. Rejects with an `AuthError` if it refuses them; in
   * `background` you may ignore that. Once you read this property, the process stays alive until it settles.
   */
  readonly ready: Promise<RegistrationCounts>
}

/** How long `require` tries, in milliseconds: a little less than the 5 s that it promises. */
const REQUIRE_MS = 4_500

/** How far a registration has come. */
export interface RegistrationProgress {
  state: 'off' | 'pending' | 'registered' | 'rejected'
  /** Whether the app waits for the result, which keeps the process alive. */
  isAwaited: boolean
  /** Runs until the next try. */
  wait?: Timer
}

/** Goes on until the service has answered, or until `signal` or `auth.close()` ends it. */
export async function register(
  config: Config,
  { mode, maxPrune, revision, signal }: RegistrationOptions,
  progress: RegistrationProgress,
): Promise<RegistrationCounts> {
  const { tell, warn, closing, permissions: manifest, serviceToken: token } = config
  const ended = AbortSignal.any([closing.signal, signal ?? closing.signal])
  let toldReason: string | undefined

  const onWait = (error: AuthError, retryInMs: number, timer: Timer) => {
    progress.wait = progress.isAwaited ? timer : unref(timer)
    const reason = error.hint!
    warn(`registration: ${reason}`, `the permissions are not registered yet: ${reason}`)
    if (reason !== toldReason) tell({ type: 'registration.delayed', reason, retryInMs })
    toldReason = reason
  }
  try {
    if (!manifest || !token) throw invalidSettings(lacking(manifest ? 'SERVICE_ACCOUNT_TOKEN' : 'permissions'))
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
    progress.state = 'registered'
    tell({ type: 'registration.registered', ...counts })
    return counts
  } catch (error) {
    progress.state = ended.aborted ? 'off' : 'rejected'
    if (!ended.aborted) {
      const { hint, requestId } = error as AuthError
      warn('registration', `the permissions are not registered: ${hint}${requestId ? ` (request ${requestId})` : ''}`)
      tell({ type: 'registration.rejected', error: error as AuthError })
    }
    throw error
  }
}
