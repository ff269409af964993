/** How the user of a session signed in, as its tokens say it. */
export interface SignInFacts {
  /** When the first factor was shown, in milliseconds. */
  firstProvenAt: number
  /** Values of RFC 8176. */
  amr: readonly string[]
}

/**
 * A provider, a code from a mail and a magic link add nothing: what was shown there is not known. A passkey is both factors, since
 * the device has verified the person. A trusted browser adds nothing either.
 */
export function factsOf({ method, firstProvenAt, second }: Pick<Proof, 'method' | 'firstProvenAt' | 'second'>): SignInFacts {
  if (method === 'passkey') return { firstProvenAt, amr: ['swk', 'mfa'] }
  return {
    firstProvenAt,
    amr: [...(method === 'password' ? ['pwd'] : []), ...(second && !second.isTrusted ? ['otp', 'mfa'] : [])],
  }
}

/** For a stored session. One from before these columns existed began with its first factor. */
export function storedFacts(session: {
  first_proven_at: number | null
  amr: string | null
  auth_method: string
  session_created_at: number
}): SignInFacts {
  const { first_proven_at: at, amr, auth_method: method, session_created_at: began } = session
  if (at === null || amr === null) return factsOf({ method, firstProvenAt: began, second: null })
  return { firstProvenAt: at, amr: amr === '' ? [] : amr.split(' ') }
}

/** What was shown in a sign-in. The policy of an app is judged by it, and not by what the user owns. */
export interface ShownFactors {
  /** As in a `Proof`. */
  method: string
  /** Whether a second factor or a passkey was shown, or the browser stood for one. */
  second: 'shown' | 'trusted' | null
  /** When that was, in milliseconds. If none was shown, when the person signed in here. */
  shownAt: number
}

function kindOfSecond({ second }: Pick<Proof, 'second'>): ShownFactors['second'] {
  return second && (second.isTrusted ? 'trusted' : 'shown')
}

export function shownBy(proof: Pick<Proof, 'method' | 'second' | 'signedInAt'>): ShownFactors {
  return { method: proof.method, second: kindOfSecond(proof), shownAt: proof.second?.provenAt ?? proof.signedInAt }
}

/**
 * For a stored session. Earlier versions kept no more than the facts in the tokens. The gate judged the second factor when the
 * session began, so it counts from then.
 */
export function storedShown(session: {
  auth_method: string
  second_factor: ShownFactors['second']
  shown_at: number | null
  amr: string | null
  session_created_at: number
}): ShownFactors {
  const { auth_method: method, second_factor, amr, session_created_at: began } = session
  const second = second_factor ?? (amr?.split(' ').includes('mfa') ? 'shown' : null)
  return { method, second, shownAt: session.shown_at ?? began }
}

declare const whole: unique symbol
declare const kept: unique symbol

/**
 * Proof of who a user is. Every way to sign in makes one and hands it to `enter`. Only `flows/sign-in/prove.ts` makes it. It is
 * not a caller: it opens a session, and nothing else.
 */
export interface Proof {
  readonly userId: string
  /** `password`, `magic_link`, `email_code`, `passkey` or the code of a provider. */
  readonly method: string
  /** When the first factor was shown, in milliseconds. */
  readonly firstProvenAt: number
  /** When the person signed in here with it. A provider may have proven them earlier. */
  readonly signedInAt: number
  /** Null if the user had no second factor, so that none was asked for. */
  readonly second: ShownFactor | null
  /** The user's token version when the account was read. A minimum that has risen above it ends what the proof opens. */
  readonly version: number
  readonly [whole]: true
}

/** A second factor that was shown. Times are in milliseconds. */
export interface ShownFactor {
  readonly provenAt: number
  /** When the factor was activated. Null if a passkey stood in for it, and the user had none besides. */
  readonly activatedAt: number | null
  /** Whether it was shown on an earlier day, in a browser that is trusted since. */
  readonly isTrusted?: boolean
}

/** A user has shown the first factor. It opens nothing: only `passSecondFactor` makes a `Proof` of it. */
export interface HalfProof<U> {
  readonly user: U
  readonly method: string
  readonly firstProvenAt: number
  /** A second factor of an earlier day that the browser stands for. */
  readonly trust?: KeptProof<{ user_id: string; version: number; proven_at: number; factor_activated_at: number }> | undefined
}

/** A row that keeps a proof for a later request. Only the model that has read it alive makes one. */
export type KeptProof<Row> = Row & { readonly [kept]: true }
