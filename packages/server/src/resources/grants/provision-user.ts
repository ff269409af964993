import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { cutCode } from '../../lib/fields.ts'
import { newId } from '../../lib/uuid.ts'
import { App } from '../../models/app.ts'
import { Role } from '../../models/role.ts'
import { type GrantedVia, UserApp } from '../../models/user-app.ts'
import { autoGrants } from '../apps/app-settings.ts'
import { membershipRoleOf } from '../apps/present.ts'
import { eventRow, recordEvent } from '../audit/record-event.ts'
import { addMember } from '../organizations/organizations.ts'

const fallbackRole = 'org_member'

/** What a login or register body may ask for in place of the app's own settings. */
export interface Overrides {
  roleCode?: string | undefined
  linkedAppCodes?: readonly string[] | undefined
}

interface ProvisionInput {
  userId: string
  email: string
  app: App
  overrides: Overrides
  /** Whether to join the default organization. False if the user has joined by an invitation or founded an organization. */
  joinOrganization: boolean
}

/**
 * Gives a user what an auto-granting app gives at the first login: grants for the app and its linked apps, and membership of its
 * default organization. Idempotent: existing rows, even revoked ones, stay as they are.
 * It runs in the transaction of the login or registration, so a failed one leaves nothing behind.
 */
export async function provisionUser(deps: Deps<Tx>, input: ProvisionInput, actor: Actor): Promise<void> {
  const { userId, app, overrides } = input
  await insertGrant(deps, { userId, appId: app.id, via: 'auto' }, actor)
  await linkApps(deps, input, actor)
  if (input.joinOrganization && app.default_organization_id !== null) {
    const roleCode = await resolveMemberRole(deps, app, overrides.roleCode, actor, userId)
    await addMember(deps, { organizationId: app.default_organization_id, userId, roleCodes: [roleCode] }, actor)
  }
}

/** Inserts an active grant and audits it, unless the user already has a row for the app. */
export async function insertGrant(
  deps: Deps<Tx>,
  { userId, appId, via, grantedBy = null }: { userId: string; appId: string; via: GrantedVia; grantedBy?: string | null },
  actor: Actor,
): Promise<void> {
  const now = deps.clock()
  const grant = {
    id: newId(now),
    user_id: userId,
    app_id: appId,
    status: 'active',
    granted_via: via,
    granted_by: grantedBy,
    granted_at: now,
  } as const
  const event = { event: 'grant.created', actor, userId, appId, details: { granted_via: via } } as const
  await UserApp.insertMissing(deps.db, grant, eventRow(deps, event))
}

async function linkApps(deps: Deps<Tx>, { userId, email, app, overrides }: ProvisionInput, actor: Actor): Promise<void> {
  const wanted = [...new Set(overrides.linkedAppCodes ?? app.linked_app_codes)].filter((code) => code !== app.code)
  if (wanted.length === 0) return
  const found = await App.query(deps.db)
    .whereIn('code', wanted)
    .orderBy('id')
    .select('id', 'code', 'built_in', 'auto_grant_on_signup', 'auto_grant_follows_policy', 'sign_up', 'allowed_email_domains')
  const isDeclared = (target: App) =>
    overrides.linkedAppCodes === undefined ||
    deps.config.clientOverrides === 'open' ||
    actor.caller?.authority.mayOverride(app.code, target.code) ||
    autoGrants(target, { email, isInvited: false }) ||
    app.linked_app_codes.includes(target.code)
  const linked = found.filter((target) => !target.built_in && isDeclared(target))
  for (const target of linked) await insertGrant(deps, { userId, appId: target.id, via: 'link' }, actor)

  const refused = wanted.filter((code) => !linked.some((target) => target.code === code)).map(cutCode)
  if (refused.length > 0)
    deps.logger.warn({ app: app.code, linked_app_codes: refused }, 'linked apps skipped: unknown or not allowed')
  if (overrides.linkedAppCodes !== undefined && refused.length > 0) {
    await recordEvent(deps, { event: 'override.refused', actor, userId, appId: app.id, details: { linked_app_codes: refused } })
  }
  if (overrides.linkedAppCodes !== undefined && linked.length > 0) {
    const applied = linked.map((target) => target.code)
    await recordEvent(deps, { event: 'override.applied', actor, userId, appId: app.id, details: { linked_app_codes: applied } })
  }
}

/** The role of the new membership. A platform role or an unknown role becomes `org_member`, so a client cannot escalate. */
async function resolveMemberRole(
  deps: Deps,
  app: App,
  override: string | undefined,
  actor: Actor,
  userId: string,
): Promise<string> {
  const defaultRole = membershipRoleOf(app) ?? fallbackRole
  const isKnown = (await Role.query(deps.db).where({ code: defaultRole, scope: 'org' }).resultSize()) > 0
  const configured = isKnown ? defaultRole : fallbackRole
  if (override === undefined) return configured
  const declared = override === configured || override === fallbackRole || app.override_role_codes.includes(override)
  const role = await Role.find(deps.db, { code: override })
  const mayGive = deps.config.clientOverrides === 'open' || actor.caller?.authority.mayGiveRole(app.code, role)
  if (!declared && !mayGive) {
    await recordEvent(deps, {
      event: 'override.refused',
      actor,
      userId,
      appId: app.id,
      details: { role_code: cutCode(override) },
    })
    return configured
  }
  const isRole = role?.scope === 'org'
  const event = isRole ? 'override.applied' : 'override.refused'
  await recordEvent(deps, { event, actor, userId, appId: app.id, details: { role_code: cutCode(override) } })
  return isRole ? override : fallbackRole
}
