import { assertAccess, assertKind } from './access.ts'
import type { Auth, RequestHeaders } from './auth.ts'
import { AuthError, configInvalid } from './errors.ts'
import { partsOf } from './hidden-calls.ts'
import type { PrincipalOf, TokenKind } from './principal.ts'
import { type Refusal, refusal } from './refusal.ts'
import { checkOptions, type GuardOptions, optionChecks, type Requirements, requirementChecks } from './requirements.ts'
import type { AnyAuth } from './step-up.ts'

/** The part of a request that a guard reads. */
export interface IncomingRequest {
  readonly headers: RequestHeaders
  /** Header names and values in turn, as received. Only Node has them. */
  readonly rawHeaders?: readonly string[]
}

/** Resolves to what the handler gets, or rejects with the reason why the request may not pass. `onRefused` gets `origin`. */
export type Admit<Found> = (request: IncomingRequest, origin?: unknown) => Promise<Found>

/** For `requireAuth`: resolves to the principal of a request that may pass. */
export function admitAuthorized<Name extends string, Kind extends TokenKind>(
  auth: AnyAuth<Name>,
  requirements: Requirements<Name, never, Kind>,
): Admit<PrincipalOf<Kind, Name>> {
  checkAuth(auth)
  checkOptions('requireAuth', requirements, requirementChecks)
  let isAsking = requirements.permissions !== undefined || requirements.anyOf !== undefined
  // Runs at once; with `lazy`, once the auth has been created.
  const askPermissions = () => {
    const parts = isAsking ? auth[partsOf]?.() : undefined
    if (parts) isAsking = false
    parts?.started?.then(
      (warnOfScope) => warnOfScope(),
      () => {},
    )
  }
  askPermissions()
  return tellRefusals(requirements, async (request) => {
    const principal = await auth.authenticate(distinctHeaders(request))
    askPermissions()
    return assertAccess(auth, principal, requirements)
  })
}

/** For `optionalAuth`: a request without a bearer token passes without a principal. */
export function admitAnyone<Name extends string, Kind extends TokenKind>(
  auth: Auth<Name>,
  options: GuardOptions<never, Kind> = {},
): Admit<PrincipalOf<Kind, Name> | undefined> {
  checkAuth(auth)
  checkOptions('optionalAuth', options, optionChecks)
  return tellRefusals(options, async (request) => {
    try {
      const principal = await auth.authenticate(distinctHeaders(request))
      assertKind(principal, options.kind)
      return principal
    } catch (error) {
      if (AuthError.is(error, 'TOKEN_MISSING')) return undefined
      throw error
    }
  })
}

function tellRefusals<Found>({ onRefused }: GuardOptions, admit: Admit<Found>): Admit<Found> {
  if (!onRefused) return admit
  return async (request, origin = request) => {
    try {
      return await admit(request)
    } catch (error) {
      // An error of the app's function, thrown or rejected, must not change the answer.
      if (AuthError.is(error) && refusal(error)) (async () => onRefused(error, origin))().catch(() => {})
      throw error
    }
  }
}

/** Returns the headers with every `Authorization` value. Node keeps only the first, while a proxy may have checked another. */
function distinctHeaders({ headers, rawHeaders = [] }: IncomingRequest): RequestHeaders {
  const values = rawHeaders.filter((_, index) => index % 2 === 1 && /^authorization$/i.test(rawHeaders[index - 1] ?? ''))
  return values.length > 1 ? { authorization: values } : headers
}

function checkAuth(auth: { authenticate?: unknown } | undefined): void {
  if (typeof auth?.authenticate !== 'function') throw configInvalid('a guard needs the result of createAuth')
}

/** Catches `createServer(requireAuth(auth))`: the guard would get a request in place of a handler, and never answer it. */
export function checkHandler(handler: unknown): void {
  if (typeof handler !== 'function') throw configInvalid('a guard needs the handler that it guards: requireAuth(auth)(handler)')
}

/**
 * Returns the answer to a request that failed with `error`, or undefined if the error is not about the caller. The answer has the
 * request id that the app answers with, or else the one that the caller sent.
 */
export function refusalFor(error: unknown, answeredId: unknown, sentId: unknown): Refusal | undefined {
  return refusal(error, answeredId || sentId)
}
