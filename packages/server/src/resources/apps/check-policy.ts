import { ApiError } from '../../errors.ts'
import { isEmailDomainAllowed } from '../../lib/email.ts'
import type { App } from '../../models/app.ts'

type Policy = Pick<App, 'sign_up' | 'allowed_email_domains' | 'allowed_auth_methods' | 'organization_sign_up'>

/** Whether the app takes sign-ups, with or without an invitation. The invitation itself is checked elsewhere. */
export function takesSignUps({ sign_up }: Pick<App, 'sign_up'>, { isInvited }: { isInvited: boolean }): boolean {
  return sign_up === 'open' || (sign_up === 'invitation' && isInvited)
}

type GrantPolicy = Pick<App, 'auto_grant_on_signup' | 'auto_grant_follows_policy' | 'sign_up' | 'allowed_email_domains'>

/**
 * Whether a user without a grant gets one at the first entry. `isInvited`: the user is entering by an invitation, or did so at the
 * registration through this app.
 */
export function autoGrants(app: GrantPolicy, { email, isInvited }: { email: string; isInvited: boolean }): boolean {
  if (!app.auto_grant_on_signup || !app.auto_grant_follows_policy) return app.auto_grant_on_signup
  return takesSignUps(app, { isInvited }) && takesDomain(app, email)
}

function takesDomain({ allowed_email_domains: domains }: Pick<App, 'allowed_email_domains'>, email: string): boolean {
  return domains.length === 0 || isEmailDomainAllowed(email, domains)
}

/**
 * Checks the app's registration policy. Call it before the collision check and before any write. `founds` says whether the
 * registration would found an organization.
 * Throws `sign_up_closed`, `email_domain_not_allowed`, `auth_method_not_allowed`, `organization_sign_up_closed`.
 */
export function checkPolicy(app: Policy, input: { email: string; method: string; isInvited: boolean; founds?: boolean }): void {
  if (!takesSignUps(app, input)) {
    const isForInvited = app.sign_up === 'invitation'
    throw new ApiError(
      'sign_up_closed',
      isForInvited
        ? { detail: 'This app takes registrations only by the invitation of an admin, or of somebody who may enter it' }
        : {},
    )
  }
  if (!takesDomain(app, input.email)) throw new ApiError('email_domain_not_allowed')
  assertMethodAllowed(app, input.method)
  if (input.founds && !app.organization_sign_up) throw new ApiError('organization_sign_up_closed')
}

/**
 * Checks that a method may create an account, or be added to one, through this app. Users who have an account may log in by any
 * method. Throws `auth_method_not_allowed`.
 */
export function assertMethodAllowed(app: Pick<App, 'allowed_auth_methods'>, method: string): void {
  if (!allowsMethod(app, method)) throw new ApiError('auth_method_not_allowed')
}

export function allowsMethod({ allowed_auth_methods: allowed }: Pick<App, 'allowed_auth_methods'>, method: string): boolean {
  return allowed.length === 0 || allowed.includes(method)
}
