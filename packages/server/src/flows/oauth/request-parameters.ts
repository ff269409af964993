import { hash } from 'node:crypto'
import { fieldError } from '../../errors.ts'

export const authorizePath = '/oauth/authorize'

/** The parameters that are read. All others are ignored, as RFC 6749 demands, but for those that would change the meaning. */
export const parameterNames = [
  'client_id',
  'redirect_uri',
  'response_type',
  'response_mode',
  'code_challenge',
  'code_challenge_method',
  'state',
  'scope',
  'nonce',
  'prompt',
  'max_age',
  'acr_values',
  'login_hint',
  'id_token_hint',
  'ui_locales',
  'organization_id',
  'provider',
  'method',
  'invite',
  'request',
  'request_uri',
  'account',
  'device',
  'return_to',
] as const
type ParameterName = (typeof parameterNames)[number]

/** Those that have a value, each given once. */
export type GivenParameters = Partial<Record<ParameterName, string>>

/** The query as it was sent. A name that was given twice has a list. */
export type SentParameters = Partial<Record<ParameterName, string | string[]>>

/** The parameters that were given, in one order. */
export function queryOf(given: GivenParameters): string {
  const query = new URLSearchParams()
  for (const name of parameterNames) {
    const value = given[name]
    if (value !== undefined) query.append(name, value)
  }
  return query.toString()
}

/** The parameters in a query that `AuthorizationRequest` carries. */
export function parametersIn(query: string): SentParameters {
  return Object.fromEntries(new URLSearchParams(query))
}

/** The parameters that only links and forms of our own pages have. */
const ownNames: ReadonlySet<string> = new Set(['account', 'device', 'return_to'] satisfies ParameterName[])
const mostFormCharacters = 6_000

/**
 * OpenID Connect Core 3.1.2.1: apps may send their request as a form, too. It comes from another site, without cookies, so the
 * browser is led to the same request by GET. A form of our page never has `client_id`.
 */
export function pathOfSentRequest(sent: Record<string, unknown>): string | undefined {
  return pathOfForm(
    authorizePath,
    parameterNames.filter((name) => !ownNames.has(name)),
    sent,
  )
}

/** The same for a request to sign out (RP-Initiated Logout 1.0, section 2). */
export function pathOfSentLogout(sent: Record<string, unknown>): string | undefined {
  return pathOfForm('/oauth/logout', ['client_id', 'id_token_hint', 'post_logout_redirect_uri', 'state', 'ui_locales'], sent)
}

function pathOfForm(path: string, names: readonly string[], sent: Record<string, unknown>): string | undefined {
  if (sent.client_id === undefined && sent.id_token_hint === undefined) return undefined
  const values = (name: string) => [sent[name]].flat().filter((value) => typeof value === 'string')
  const query = new URLSearchParams(
    names.flatMap((name) => values(name).map((value): [string, string] => [name, value])),
  ).toString()
  if (query.length > mostFormCharacters)
    throw fieldError('form', 'too_long', `must have at most ${mostFormCharacters} characters`)
  return `${path}?${query}`
}

export function hashOfQuery(query: string): string {
  return hash('sha256', query, 'base64url').slice(0, 22)
}
