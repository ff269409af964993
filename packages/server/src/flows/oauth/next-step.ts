import type { ErrorCode } from '../../errors.ts'

/** Everything that decides what happens next with an authorization request. Times are in milliseconds. */
export interface Situation {
  now: number
  request: {
    prompt: 'none' | 'login' | 'create' | undefined
    maxAgeSeconds: number | undefined
    /** Whether two factors must have been shown. */
    demandsMfa: boolean
    begunAt: number
    hasInvite: boolean
    /** Whether the person who is signed in can still accept the invitation. */
    canJoin: boolean
    hasOrganization: boolean
    /** Set if the app expects another person than the one who is signed in, or a hint that does not tell whom. */
    hint?: 'another' | 'unknown' | undefined
    /** Whether the redirect URL leads to a site that nobody but its owner can answer for. */
    isRedirectOwned: boolean
  }
  app: {
    singleSignOn: boolean
    maxSignInAgeSeconds: number | null
    isAdminApp: boolean
  }
  /** Who is signed in at this service in this browser. */
  signedIn: SignedIn | undefined
}

export interface SignedIn {
  firstProvenAt: number
  /** When they last signed in in this browser. A provider may have proven them earlier. */
  signedInAt: number
  /** When they last signed in in this browser or entered an app. */
  lastSeenAt: number
  /** When the second factor or a passkey was shown; null if neither was, or if the factor was replaced since. */
  secondProvenAt: number | null
  hasSecondFactor: boolean
  /** Whether the browser stands for a second factor of an earlier day. Never where the request or the app demands a new one. */
  isTrusted: boolean
  /** Whether the user has a passkey that works here. */
  hasPasskey: boolean
  /** Whether the user is exactly the one whom this e-mail names in the pools of the app. */
  isNamedHere: boolean
  /** Whether the user already has an active row for the app, or enters without one by right. */
  hasEntered: boolean
  /** What the gate would say. */
  refusal: ErrorCode | undefined
  organizations: number
}

export type NextStep =
  | { ask: 'sign_in' | 'create_account' | 'use_passkey' | 'enrol' | 'continue' | 'organization' | 'join' }
  /** The person is known, and may not enter. */
  | { refuse: ErrorCode | 'unknown_here' }
  | { enter: 'silently' }
  /** `prompt=none` shows nothing. */
  | { error: 'login_required' | 'interaction_required' }

const freshMs = 10 * 60_000

/** Decides what happens next with an authorization request. It reads nothing and writes nothing. */
export function nextStep(situation: Situation): NextStep {
  const step = stepOf(situation)
  const { request, signedIn } = situation
  if (request.prompt !== 'none' || 'enter' in step || 'error' in step) return step
  // Somebody who is signed in, but whom the app does not know, looks like somebody who is not signed in.
  const mustSignIn = !signedIn?.hasEntered || ('ask' in step && step.ask === 'sign_in')
  return { error: mustSignIn ? 'login_required' : 'interaction_required' }
}

function stepOf({ now, request, app, signedIn }: Situation): NextStep {
  if (!signedIn) return { ask: request.prompt === 'create' ? 'create_account' : 'sign_in' }
  const { firstProvenAt, lastSeenAt, secondProvenAt, hasSecondFactor } = signedIn
  // Of two factors that are demanded, the older proof counts.
  const provenAt = request.demandsMfa ? Math.min(firstProvenAt, secondProvenAt ?? firstProvenAt) : firstProvenAt
  const isNewerThan = (provenAt: number, seconds: number) => provenAt >= request.begunAt || now - provenAt <= seconds * 1000
  const isNew = (provenAt: number) => provenAt >= request.begunAt
  if (request.hint !== undefined && !isNew(signedIn.signedInAt)) return { ask: 'sign_in' }
  if (request.hint === 'another') return { error: 'login_required' }
  if (request.prompt === 'login' && !isNew(provenAt)) return { ask: 'sign_in' }
  if (request.prompt === 'create' && !isNew(firstProvenAt) && !isNew(lastSeenAt)) return { ask: 'create_account' }
  if (hasSecondFactor && secondProvenAt === null && (!signedIn.isTrusted || request.demandsMfa)) return { ask: 'sign_in' }
  const oldest = Math.min(request.maxAgeSeconds ?? Number.POSITIVE_INFINITY, app.maxSignInAgeSeconds ?? Number.POSITIVE_INFINITY)
  if (!isNewerThan(provenAt, oldest)) return { ask: 'sign_in' }
  if (!signedIn.isNamedHere) return { refuse: 'unknown_here' }
  // Nothing is handed out before what the app demands was shown.
  const { refusal } = signedIn
  const isFresh = (provenAt: number | null) => provenAt !== null && now - provenAt <= freshMs
  // Nobody else than the person may set it up, so they have just signed in.
  const toEnrol = { ask: isFresh(signedIn.signedInAt) ? ('enrol' as const) : ('sign_in' as const) }
  // Somebody who came from a provider and owns neither signs in there again.
  if (refusal === 'second_factor_not_shown') return { ask: !hasSecondFactor && signedIn.hasPasskey ? 'use_passkey' : 'sign_in' }
  if (refusal === 'two_factor_enrollment_required') return toEnrol
  // Before the gate: joining may be what opens it.
  if (request.canJoin) return { ask: 'join' }
  if (refusal !== undefined) return { refuse: refusal }
  if (request.demandsMfa && secondProvenAt === null) return signedIn.hasPasskey ? { ask: 'use_passkey' } : toEnrol
  if (!request.hasOrganization && signedIn.organizations > 1) return { ask: 'organization' }
  const isFreshEnough = !app.isAdminApp || (isFresh(firstProvenAt) && (!hasSecondFactor || isFresh(secondProvenAt)))
  const isSilent =
    app.singleSignOn &&
    request.isRedirectOwned &&
    // A person who has just signed in for this request was asked, as `login` and `create` demand.
    (request.prompt === undefined || request.prompt === 'none' || isNew(firstProvenAt)) &&
    !request.hasInvite &&
    signedIn.hasEntered &&
    isFreshEnough
  return isSilent ? { enter: 'silently' } : { ask: 'continue' }
}

const loopback = /^(127(\.\d+){3}|\[::1\])$/

/**
 * Whether only its owner can receive what is sent to a redirect URL. Any program on the machine can listen on a loopback address,
 * and any app on a phone can register a private scheme, so both need a person who agrees.
 */
export function isOwnedRedirect(redirectUri: string, { production }: { production: boolean }): boolean {
  const { protocol, hostname } = new URL(redirectUri)
  if (loopback.test(hostname)) return false
  return protocol === 'https:' || (protocol === 'http:' && !production)
}
