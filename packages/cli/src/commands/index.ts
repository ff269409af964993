import type { Command } from '../tools/command.ts'
import { api } from './api.ts'
import { activateApp } from './app/activate.ts'
import { listClientSecrets } from './app/client-secret/list.ts'
import { newClientSecret } from './app/client-secret/new.ts'
import { revokeClientSecret } from './app/client-secret/revoke.ts'
import { createApp } from './app/create.ts'
import { deactivateApp } from './app/deactivate.ts'
import { deleteApp } from './app/delete.ts'
import { appEnv } from './app/env.ts'
import { listApps } from './app/list.ts'
import { onboardApp } from './app/onboard.ts'
import { showApp } from './app/show.ts'
import { appSigning } from './app/signing.ts'
import { updateApp } from './app/update.ts'
import { applyDeclaration } from './apply.ts'
import { listAudit } from './audit/list.ts'
import { showAudit } from './audit/show.ts'
import { tailAudit } from './audit/tail.ts'
import { verifyAudit } from './audit/verify.ts'
import { whoGave } from './audit/who.ts'
import { completion } from './completion.ts'
import { deleteContext } from './context/delete.ts'
import { listContexts } from './context/list.ts'
import { setContext } from './context/set.ts'
import { showContext } from './context/show.ts'
import { useContext } from './context/use.ts'
import { dashboard } from './dashboard.ts'
import { probeBackend } from './dev/probe.ts'
import { diffDeclaration } from './diff.ts'
import { doctor } from './doctor.ts'
import { exportDeclaration } from './export.ts'
import { addGrant } from './grant/add.ts'
import { explainGrant } from './grant/explain.ts'
import { listGrants } from './grant/list.ts'
import { approveRequest } from './grant/request/approve.ts'
import { denyRequest } from './grant/request/deny.ts'
import { listRequests } from './grant/request/list.ts'
import { revokeGrant } from './grant/revoke.ts'
import { clearLockouts } from './lockout/clear.ts'
import { listLockouts } from './lockout/list.ts'
import { login } from './login.ts'
import { logout } from './logout.ts'
import { previewMail } from './mail/preview.ts'
import { testMail } from './mail/test.ts'
import { createOrganization } from './org/create.ts'
import { deleteOrganization } from './org/delete.ts'
import { revokeInvitation } from './org/invitation/revoke.ts'
import { inviteMember } from './org/invite.ts'
import { listOrganizations } from './org/list.ts'
import { setMember } from './org/member.ts'
import { showOrganization } from './org/show.ts'
import { updateOrganization } from './org/update.ts'
import { generatePermissions } from './permission/codegen.ts'
import { diffPermissions } from './permission/diff.ts'
import { listPermissions } from './permission/list.ts'
import { registerPermissions } from './permission/register.ts'
import { listCollisions } from './pool/collisions.ts'
import { listPools } from './pool/list.ts'
import { movePool } from './pool/move.ts'
import { showPool } from './pool/show.ts'
import { tagUser } from './pool/tag.ts'
import { untagUser } from './pool/untag.ts'
import { createRole } from './role/create.ts'
import { deleteRole } from './role/delete.ts'
import { forbidRole } from './role/forbid.ts'
import { listRoles } from './role/list.ts'
import { permitRole } from './role/permit.ts'
import { showRole } from './role/show.ts'
import { newSecret } from './secret/new.ts'
import { rotateSecret } from './secret/rotate.ts'
import { secretStatus } from './secret/status.ts'
import { createServiceAccount } from './service-account/create.ts'
import { deleteServiceAccount } from './service-account/delete.ts'
import { forbidServiceAccount } from './service-account/forbid.ts'
import { listServiceAccounts } from './service-account/list.ts'
import { permitServiceAccount } from './service-account/permit.ts'
import { rotateServiceAccount } from './service-account/rotate.ts'
import { updateServiceAccount } from './service-account/update.ts'
import { listSigningKeys } from './signing-key/list.ts'
import { rotateSigningKeys } from './signing-key/rotate.ts'
import { createSsoProvider } from './sso-provider/create.ts'
import { deleteSsoProvider } from './sso-provider/delete.ts'
import { listSsoProviders } from './sso-provider/list.ts'
import { showSsoProvider } from './sso-provider/show.ts'
import { updateSsoProvider } from './sso-provider/update.ts'
import { inspect } from './token/inspect.ts'
import { traceToken } from './token/trace.ts'
import { top } from './top.ts'
import { disableTwoFactor } from './two-factor/disable.ts'
import { reportTwoFactor } from './two-factor/report.ts'
import { setUpTwoFactor } from './two-factor/setup.ts'
import { activateUser } from './user/activate.ts'
import { listTrustedBrowsers } from './user/browser/list.ts'
import { revokeTrustedBrowser } from './user/browser/revoke.ts'
import { createUser } from './user/create.ts'
import { deleteUser } from './user/delete.ts'
import { exportUsers } from './user/export.ts'
import { findUsers, listUsers } from './user/find.ts'
import { listIdentities } from './user/identity/list.ts'
import { unlinkIdentity } from './user/identity/unlink.ts'
import { importUsers } from './user/import.ts'
import { logoutUser } from './user/logout.ts'
import { offboardUser } from './user/offboard.ts'
import { listPasskeys } from './user/passkey/list.ts'
import { removePasskey } from './user/passkey/remove.ts'
import { resetTwoFactor } from './user/reset-two-factor.ts'
import { setUserRole } from './user/role.ts'
import { endSession } from './user/session/end.ts'
import { listSessions } from './user/session/list.ts'
import { showUser } from './user/show.ts'
import { suspendUser } from './user/suspend.ts'
import { unlockUser } from './user/unlock.ts'
import { updateUser } from './user/update.ts'
import { versionCommand } from './version.ts'
import { listDeliveries } from './webhook/deliveries.ts'
import { listWebhooks } from './webhook/list.ts'
import { redeliverWebhook } from './webhook/redeliver.ts'
import { testWebhooks } from './webhook/test.ts'
import { whoami } from './whoami.ts'

/** Every command, in the order of help and reference. */
export const commands: readonly Command[] = [
  login,
  logout,
  whoami,
  setUpTwoFactor,
  disableTwoFactor,
  reportTwoFactor,
  listContexts,
  useContext,
  showContext,
  setContext,
  deleteContext,
  doctor,
  top,
  dashboard,
  createApp,
  listApps,
  showApp,
  updateApp,
  activateApp,
  deactivateApp,
  deleteApp,
  newClientSecret,
  listClientSecrets,
  revokeClientSecret,
  appEnv,
  appSigning,
  onboardApp,
  addGrant,
  revokeGrant,
  listGrants,
  explainGrant,
  listRequests,
  approveRequest,
  denyRequest,
  listPools,
  showPool,
  listCollisions,
  movePool,
  tagUser,
  untagUser,
  registerPermissions,
  listPermissions,
  diffPermissions,
  generatePermissions,
  listRoles,
  showRole,
  createRole,
  deleteRole,
  permitRole,
  forbidRole,
  findUsers,
  listUsers,
  showUser,
  createUser,
  updateUser,
  setUserRole,
  suspendUser,
  activateUser,
  unlockUser,
  logoutUser,
  resetTwoFactor,
  listSessions,
  endSession,
  listIdentities,
  unlinkIdentity,
  listTrustedBrowsers,
  revokeTrustedBrowser,
  listPasskeys,
  removePasskey,
  offboardUser,
  deleteUser,
  importUsers,
  exportUsers,
  listLockouts,
  clearLockouts,
  previewMail,
  testMail,
  listOrganizations,
  showOrganization,
  createOrganization,
  updateOrganization,
  deleteOrganization,
  setMember,
  inviteMember,
  revokeInvitation,
  createServiceAccount,
  listServiceAccounts,
  permitServiceAccount,
  forbidServiceAccount,
  updateServiceAccount,
  rotateServiceAccount,
  deleteServiceAccount,
  createSsoProvider,
  listSsoProviders,
  showSsoProvider,
  updateSsoProvider,
  deleteSsoProvider,
  newSecret,
  secretStatus,
  rotateSecret,
  listSigningKeys,
  rotateSigningKeys,
  listAudit,
  tailAudit,
  showAudit,
  whoGave,
  verifyAudit,
  listWebhooks,
  listDeliveries,
  redeliverWebhook,
  testWebhooks,
  inspect,
  traceToken,
  probeBackend,
  exportDeclaration,
  diffDeclaration,
  applyDeclaration,
  api,
  completion,
  versionCommand,
]

/** Describes commands by their first word. */
export const nouns: Record<string, string> = {
  'two-factor': 'The second factor of your account, and who has none',
  context: 'Services and accounts that authctl knows',
  app: 'Apps that users sign in to',
  grant: 'Access of users to apps',
  pool: 'Pools of users: who may log in where',
  permission: 'Permissions that services declare',
  role: 'Roles and their permissions',
  user: 'User accounts',
  lockout: 'Locks caused by failed logins',
  mail: 'The mails that users get',
  org: 'Organizations and their members',
  'service-account': 'Accounts for programs',
  'sso-provider': 'Providers of third-party login',
  secret: 'The secret that signs access tokens',
  'signing-key': 'The keys that sign ID tokens',
  audit: 'What happened, and who did it',
  webhook: 'Notifications to apps about new users',
  token: 'Access tokens',
  dev: 'Tools for developers of backends',
}

/** Describes commands of three words by their first two words. */
export const nestedNouns: Record<string, string> = {
  'user session': 'Active sessions of a user',
  'user identity': 'Third-party logins of a user',
  'user passkey': 'Passkeys of a user',
  'org invitation': 'Invitations that are still open',
  'grant request': 'Requests of users for access to apps',
}
