import { closest } from 'fastest-levenshtein'
import { keysOf } from './keys-of.ts'

/** The kinds of audit events, and what each of them says. */
export const auditEvents = {
  'app.created': 'An app was created',
  'app.deleted': 'An app was deleted, with its grants and sessions',
  'app.secret_read': 'The secret of an app that signs with a key of its own was printed on the machine of the service',
  'app.signing_changed': 'The change of the key that signs for an app was taken a step further, or back',
  'app.updated': 'Settings of an app were changed',
  'audit.erased': 'Addresses, names or reasons were taken out of audit events, since a user was erased; it lists the events',
  'credentials.removed': 'An account that nobody had proven was claimed: what a stranger may have put there was removed',
  'email.change_requested': 'A user asked for another address, which has still to be confirmed',
  'email.change_undone': 'The old address took back a change of the address',
  'email.verified': 'Somebody proved that the address of an account is theirs',
  'grant.created': 'A user was given access to an app, or their access was changed',
  'grant.request_approved': 'A request for access to an app was granted',
  'grant.request_denied': 'A request for access to an app was turned down',
  'grant.requested': 'A user asked for access to an app',
  'grant.revoked': 'The access of a user to an app was taken away',
  'identity.link_failed': 'A login at a provider was to be linked with an account, and was not',
  'identity.link_started': 'A user began to link a login at a provider with the account',
  'identity.linked': 'A login at a provider was linked with an account',
  'identity.unlinked': 'A login at a provider was unlinked from an account',
  'invitation.accepted': 'An invitation to an organization was accepted',
  'invitation.created': 'Somebody was invited to an organization',
  'invitation.deleted': 'An invitation was withdrawn',
  'login.failed':
    'A login was refused; `reason` says why. Refusals that cost no password hash are one event per address, app, reason ' +
    'and minute: `count` says how many there were. Where they were about several accounts it names none of them',
  'login.success': 'Somebody logged in',
  logout: 'A session was ended with its refresh token',
  'logout.all': 'All sessions of a user were ended',
  'machine_token.issued': 'A service account got an access token for an app',
  'mail.failed': 'A mail could not be delivered and was given up',
  'membership.created': 'A user became a member of an organization',
  'membership.deleted': 'A user is no longer a member of an organization',
  'membership.updated': 'The roles of a member of an organization were changed',
  'organization.created': 'An organization was created',
  'organization.deleted': 'An organization was deleted',
  'organization.updated': 'An organization was renamed',
  'override.applied': 'A login or registration asked for a role or linked apps of its own, and got them',
  'override.refused': 'A login or registration asked for a role or linked apps of its own, and did not get them',
  'password.changed': 'A user changed the password',
  'password.reset': 'A password was set by the link of a mail',
  'permissions.registered': 'A service declared other permissions than before',
  'reauthentication.failed': 'Somebody who is logged in was asked for the credentials once more and failed',
  'role.assigned': 'A user was given a global role',
  'role.created': 'A role was created',
  'role.deleted': 'A role was deleted',
  'role.unassigned': 'A global role was taken from a user',
  'role.updated': 'A role was changed',
  'role_permissions.changed': 'The permissions of a role were changed',
  'service_account.created': 'A service account was created',
  'service_account.deleted': 'A service account was deleted',
  'service_account.permissions_changed': 'The permissions of a service account were changed',
  'service_account.rotated': 'A service account was given a new token',
  'service.restored': 'A backup was restored: all sessions, links and open invitations were ended',
  'session.ended': 'One session of a user was ended',
  'sso_provider.created': 'A login provider was set up',
  'sso_provider.deleted': 'A login provider was deleted',
  'sso_provider.updated': 'Settings of a login provider were changed',
  'token.reuse_detected': 'A refresh token was used twice, and its session was ended',
  'token.refreshed': 'A session was refreshed',
  'token.traced': 'An admin asked whose a token is',
  'two_factor.activated': 'A second factor was activated',
  'two_factor.disabled': 'A user disabled the second factor',
  'two_factor.failed': 'A wrong second-factor code was given',
  'two_factor.recovery_code_used': 'A recovery code was used in place of the second factor',
  'two_factor.removed': 'An admin removed the second factor of a user',
  'two_factor.set_up': 'A user began to set up a second factor',
  'user.activated': 'A suspended user was activated',
  'user.created': 'An admin created a user',
  'user.deleted': 'A user was deleted',
  'user.erased': 'The e-mail and the names of a deleted user were blanked',
  'user.imported': 'An import created or changed a user',
  'user.locked': 'Too many wrong passwords locked an account',
  'user.namespace_changed': 'A user was moved to another home pool',
  'user.namespaces_changed': 'Pool tags of a user were added or removed',
  'user.offboarded': 'An admin closed an account with all that it could reach',
  'user.registered': 'Somebody registered',
  'user.suspended': 'A user was suspended',
  'user.unlocked': 'An admin unlocked an account',
  'user.updated': 'The e-mail or the names of a user were changed',
  'webhook.redelivered': 'A webhook was sent once more',
  'webhook.tested': 'An admin tried a webhook',
} as const

export type AuditEventName = keyof typeof auditEvents

export function isAuditEvent(name: string): name is AuditEventName {
  return Object.hasOwn(auditEvents, name)
}

/** The kind whose name is closest to the given one. */
export function nearestAuditEvent(name: string): string {
  return closest(name, keysOf(auditEvents))
}
