import { closest } from 'fastest-levenshtein'
import { keysOf } from './collections.ts'

/** The kinds of audit events, and what each of them says. */
export const auditEvents = {
  'app.created': 'An app was created',
  'app.deleted': 'An app was deleted, with its grants and sessions',
  'app.logo_changed': 'The logo of an app was set or removed',
  'app.secret_read': 'The secret of an app with its own signing key was printed on the machine of the service',
  'app.signing_changed': 'The signing key change of an app moved a step forward or back',
  'app.updated': 'Settings of an app were changed',
  'audit.erased': 'Addresses, names or reasons were removed from audit events because a user was erased. Lists those events',
  'browser.trusted': 'A person chose not to be asked for the second factor in a browser for some days',
  'browser.untrusted': 'The second factor is asked for in a browser again',
  'browser_session.created': 'A person signed in at the pages of this service in a browser',
  'browser_session.ended': 'A person was signed out at the pages of this service in a browser',
  'client_secret.created': 'An app was given a client secret',
  'client_secret.revoked': 'A client secret of an app was revoked',
  'code.reused': 'The code of a sign-in was exchanged a second time, so the session of the first exchange was ended',
  'credentials.removed':
    'An unproven account was taken over: everything that a stranger may have put there was removed. Or a change of the e-mail ' +
    'address was undone: the ways to sign in that are newer than the change were removed',
  'device_grant.approved': 'A person allowed the sign-in of a device',
  'device_grant.denied': 'A person denied the sign-in of a device',
  'email.change_allowed': 'The present address of an account without a password allowed a change of the e-mail address',
  'email.change_requested': 'A user asked to change the e-mail address; the new one is not confirmed yet',
  'email.change_undone': 'A change of the e-mail address was undone through the old address',
  'email.verified': 'The e-mail address of an account was verified',
  'grant.created': 'A user was given access to an app, or their access was changed',
  'grant.request_approved': 'A request for access to an app was approved',
  'grant.request_denied': 'A request for access to an app was denied',
  'grant.requested': 'A user asked for access to an app',
  'grant.revoked': 'The access of a user to an app was revoked',
  'identity.link_failed': 'A login at a provider could not be linked to an account',
  'identity.link_started': 'A user started to link a login at a provider to the account',
  'identity.linked': 'A login at a provider was linked to an account',
  'identity.unlinked': 'A login at a provider was unlinked from an account',
  'invitation.accepted': 'An invitation to an organization was accepted',
  'invitation.created': 'An invitation to an organization was created',
  'invitation.deleted': 'An invitation was withdrawn',
  'login.failed':
    'A login was refused; `reason` says why. Refusals without a password hash are combined into one event per address, app, ' +
    'reason and minute, and `count` is their number. If they were about several accounts, the event names none of them',
  'login.success': 'A user signed in',
  logout: 'A session was ended with its refresh token',
  'logout.all': 'All sessions of a user were ended',
  'machine_token.issued': 'A service account got an access token for an app',
  'mail.failed': 'A mail could not be delivered and was given up',
  'mail.requested':
    'A mail to verify an address, to set a password or to sign in was asked for, by link or code. `reason` says why none was ' +
    'queued; `authctl audit show ID` says what became of one that was. Many requests of one IP address share an event, and `count` ' +
    'is their number',
  'mail.resent': 'An admin sent a mail again that was given up',
  'mail.tested': 'An admin sent a test mail for an app',
  'membership.created': 'A user became a member of an organization',
  'membership.deleted': 'A user is no longer a member of an organization',
  'membership.updated': 'The roles of a member of an organization were changed',
  'organization.created': 'An organization was created',
  'organization.deleted': 'An organization was deleted',
  'organization.updated': 'An organization was renamed',
  'override.applied': 'The role or linked apps that a login or registration asked for were applied',
  'override.refused': 'The role or linked apps that a login or registration asked for were refused',
  'passkey.added': 'A user added a passkey to the ways to sign in',
  'passkey.counter_mismatch':
    'A passkey was used whose counter had not grown: it may have been copied, so the sign-in was refused',
  'passkey.removed': 'A passkey of a user was removed',
  'password.changed': 'A user changed their password',
  'password.reset': 'A password was set through the link in a mail',
  'permissions.registered': 'A service changed the permissions that it declares',
  'reauthentication.failed': 'A signed-in user was asked to prove their identity again and failed',
  'role.assigned': 'A user was given a global role',
  'role.created': 'A role was created',
  'role.deleted': 'A role was deleted',
  'role.unassigned': 'A global role was removed from a user',
  'role.updated': 'A role was changed',
  'role_permissions.changed': 'The permissions of a role were changed',
  'service_account.created': 'A service account was created',
  'service_account.deleted': 'A service account was deleted',
  'service_account.permissions_changed': 'The permissions of a service account were changed',
  'service_account.rotated': 'A service account was given a new token',
  'service_account.updated': 'The name, scopes, apps or expiry of a service account were changed',
  'service.restored': 'A backup was restored: all sessions, links and open invitations were ended',
  'session.ended': 'One session of a user was ended',
  'signing_key.rotated': 'Another key signs ID tokens from now on',
  'sso_provider.created': 'A login provider was created',
  'sso_provider.deleted': 'A login provider was deleted',
  'sso_provider.updated': 'Settings of a login provider were changed',
  'token.reuse_detected': 'A refresh token was used again after it had been exchanged, and its session was ended',
  'token.refreshed': 'A session was refreshed',
  'token.traced': 'An admin looked up whose token it is',
  'two_factor.activated': 'A second factor was activated',
  'two_factor.disabled': 'A user disabled their second factor',
  'two_factor.enrolled': 'A user set up a second factor while signing in, because the app demands one',
  'two_factor.failed': 'A wrong second-factor code was sent',
  'two_factor.recovery_codes_renewed': 'A user got new recovery codes, and the old ones died',
  'two_factor.recovery_code_used': 'A recovery code was used in place of the second factor',
  'two_factor.removed': 'An admin removed the second factor of a user',
  'two_factor.set_up': 'A user started to set up a second factor',
  'user.activated': 'A suspended user was activated',
  'user.created': 'An admin created a user',
  'user.deleted': 'A user was deleted',
  'user.exported': 'A user, or an admin, downloaded the data of the user',
  'user.erased': 'The e-mail and the names of a deleted user were erased',
  'user.imported': 'An import created or changed a user',
  'user.locked': 'Too many wrong passwords or codes locked an account, or codes by e-mail for an address',
  'user.namespace_changed': 'A user was moved to another home pool',
  'user.namespaces_changed': 'Pool tags of a user were added or removed',
  'user.offboarded': 'An admin closed an account and all of its access',
  'user.registered': 'A user registered',
  'user.suspended': 'A user was suspended',
  'user.unlocked': 'An admin unlocked an account',
  'user.updated': 'The e-mail or the names of a user were changed',
  'webhook.redelivered': 'A webhook was sent again',
  'webhook.tested': 'An admin tested a webhook',
} as const

export type AuditEventName = keyof typeof auditEvents

const kinds = keysOf(auditEvents)
const families = [...new Set(kinds.flatMap((name) => (name.includes('.') ? [`${name.split('.')[0]}.*`] : [])))]

/** The kind of this name, or all kinds of a family such as `user.*`. Empty if there is none. */
export function auditEventsNamed(name: string): AuditEventName[] {
  return kinds.filter((each) => each === name || (name.endsWith('.*') && each.startsWith(name.slice(0, -1))))
}

/** The name of a kind, or of a family, that is closest to the given one. */
export function nearestAuditEvent(name: string): string {
  return closest(name, name.endsWith('*') ? families : kinds)
}
