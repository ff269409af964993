import type { Command } from '../tools/command.ts'
import { api } from './api.ts'
import { activateApp, createApp, deactivateApp, deleteApp, listApps, showApp, updateApp } from './app.ts'
import { onboardApp } from './app-onboarding.ts'
import { appEnv, appSigning, listClientSecrets, newClientSecret, revokeClientSecret } from './app-secrets.ts'
import { archiveAudit, listAudit, showAudit, tailAudit, verifyAudit, whoGave } from './audit.ts'
import { completion } from './completion.ts'
import { deleteContext, listContexts, setContext, showContext, useContext } from './context.ts'
import { dashboard } from './dashboard.ts'
import { applyDeclaration, diffDeclaration, exportDeclaration } from './declaration.ts'
import { probeBackend } from './dev.ts'
import { doctor } from './doctor.ts'
import { addGrant, approveRequest, denyRequest, explainGrant, listGrants, listRequests, revokeGrant } from './grant.ts'
import { clearLockouts, listLockouts } from './lockout.ts'
import { listMails, previewMail, resendMail, testMail } from './mail.ts'
import {
  createOrganization,
  deleteOrganization,
  inviteMember,
  listOrganizations,
  revokeInvitation,
  setMember,
  showOrganization,
  updateOrganization,
} from './org.ts'
import { diffPermissions, generatePermissions, listPermissions, registerPermissions } from './permission.ts'
import { listCollisions, listPools, movePool, showPool, tagUser, untagUser } from './pool.ts'
import { createRole, deleteRole, forbidRole, listRoles, permitRole, showRole } from './role.ts'
import { newSecret, rotateSecret, secretStatus } from './secret.ts'
import {
  createServiceAccount,
  deleteServiceAccount,
  forbidServiceAccount,
  listServiceAccounts,
  permitServiceAccount,
  rotateServiceAccount,
  updateServiceAccount,
} from './service-account.ts'
import { login, logout, whoami } from './session.ts'
import { listSigningKeys, rotateSigningKeys } from './signing-key.ts'
import { createSsoProvider, deleteSsoProvider, listSsoProviders, showSsoProvider, updateSsoProvider } from './sso-provider.ts'
import { inspect, traceToken } from './token.ts'
import { top } from './top.ts'
import { disableTwoFactor, reportTwoFactor, setUpTwoFactor } from './two-factor.ts'
import {
  activateUser,
  createUser,
  deleteUser,
  findUsers,
  listUsers,
  setUserRole,
  showUser,
  suspendUser,
  updateUser,
} from './user.ts'
import { exportUsers, importUsers } from './user-files.ts'
import { offboardUser } from './user-offboarding.ts'
import {
  endSession,
  listIdentities,
  listPasskeys,
  listSessions,
  listTrustedBrowsers,
  logoutUser,
  removePasskey,
  resetTwoFactor,
  revokeTrustedBrowser,
  unlinkIdentity,
  unlockUser,
} from './user-sign-ins.ts'
import { versionCommand } from './version.ts'
import { listDeliveries, listWebhooks, redeliverWebhook, testWebhooks } from './webhook.ts'

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
  listMails,
  resendMail,
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
  archiveAudit,
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
  pool: 'Pools of users: who may sign in where',
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
const nestedNouns: Record<string, string> = {
  'user session': 'Active sessions of a user',
  'user identity': 'Third-party logins of a user',
  'user passkey': 'Passkeys of a user',
  'org invitation': 'Invitations that are still open',
  'grant request': 'Requests of users for access to apps',
}

const rootExamples = [
  'login --email ada@example.com',
  'app create shop --name Shop --redirect https://shop.example.com/callback --auto-grant',
  'grant add --app shop --user bob@example.com',
]

/** What the commands below these words are about. Without words, what authctl is. */
export function describeGroup(path: string): string {
  return path === '' ? 'Administers a Gatehouse login service.' : (nouns[path] ?? nestedNouns[path] ?? path)
}

/** Up to three examples of a group: the first of each command, then the second of each, and so on. */
export function examplesOf(path: string): string[] {
  if (path === '') return rootExamples
  const specs = commands.filter((spec) => spec.path.startsWith(`${path} `))
  const turns = [0, 1, 2] as const
  return turns.flatMap((turn) => specs.map(({ examples }) => examples[turn])).slice(0, 3)
}
