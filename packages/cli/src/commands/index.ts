import type { Command } from '../command.ts'
import { api } from './api.ts'
import { activateApp } from './app/activate.ts'
import { createApp } from './app/create.ts'
import { deactivateApp } from './app/deactivate.ts'
import { deleteApp } from './app/delete.ts'
import { appEnv } from './app/env.ts'
import { listApps } from './app/list.ts'
import { showApp } from './app/show.ts'
import { updateApp } from './app/update.ts'
import { listAudit } from './audit/list.ts'
import { tailAudit } from './audit/tail.ts'
import { completion } from './completion.ts'
import { deleteContext } from './context/delete.ts'
import { listContexts } from './context/list.ts'
import { setContext } from './context/set.ts'
import { showContext } from './context/show.ts'
import { useContext } from './context/use.ts'
import { addGrant } from './grant/add.ts'
import { explainGrant } from './grant/explain.ts'
import { listGrants } from './grant/list.ts'
import { revokeGrant } from './grant/revoke.ts'
import { login } from './session/login.ts'
import { logout } from './session/logout.ts'
import { whoami } from './session/whoami.ts'
import { inspect } from './token/inspect.ts'
import { disableTwoFactor } from './two-factor/disable.ts'
import { setUpTwoFactor } from './two-factor/setup.ts'
import { findUsers } from './user/find.ts'
import { showUser } from './user/show.ts'
import { versionCommand } from './version.ts'

/** Every command, in the order of help and reference. */
export const commands: readonly Command[] = [
  login,
  logout,
  whoami,
  setUpTwoFactor,
  disableTwoFactor,
  listContexts,
  useContext,
  showContext,
  setContext,
  deleteContext,
  createApp,
  listApps,
  showApp,
  updateApp,
  activateApp,
  deactivateApp,
  deleteApp,
  appEnv,
  addGrant,
  revokeGrant,
  listGrants,
  explainGrant,
  findUsers,
  showUser,
  listAudit,
  tailAudit,
  inspect,
  api,
  completion,
  versionCommand,
]

/** What the first word of a command is about. */
export const nouns: Record<string, string> = {
  'two-factor': 'The second factor of your own account',
  context: 'Services and accounts that authctl knows',
  app: 'Apps that users sign in to',
  grant: 'Who may enter which app',
  user: 'User accounts',
  audit: 'What happened, and who did it',
  token: 'Access tokens',
}
