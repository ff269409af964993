import type { z } from 'zod'
import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError } from '../../errors.ts'
import { hasProvenAddress } from '../../lib/account-record.ts'
import { SYSTEM_ADMIN } from '../../lib/authority.ts'
import type { Actor, UserCaller } from '../../lib/caller.ts'
import { hashOpaqueToken, newOpaqueToken, TOKEN_PREFIXES } from '../../lib/opaque-token.ts'
import { newId } from '../../lib/uuid.ts'
import { App } from '../../models/app.ts'
import { Invitation } from '../../models/invitation.ts'
import { recordEvent } from '../audit/record-event.ts'
import { addInvitationMail } from '../mail/add-mail.ts'
import { type Governed, getGovernedOrganization, lockGovernedOrganization } from '../organizations/get-governed-organization.ts'
import { validateMemberRoles } from '../organizations/member-roles.ts'
import { type Attempt, giveBackAttempts, takeAttempts } from '../rate-limits/take-attempt.ts'
import { limitUser } from '../rate-limits/take-by-address.ts'
import { getUser, keepCaller } from '../users/get-user.ts'
import { presentInvitation } from './present.ts'
import type { CreateInvitationInput, createdInvitation } from './schema.ts'

const defaultLifeSeconds = 7 * 24 * 60 * 60

/**
 * Creates an invitation to an organization. Only this answer and the mail to the address, if there is one, contain the token; the
 * database stores its hash. Throws what `keepCaller` and `lockGovernedOrganization` throw, `validation_failed`, and to an org_admin what
 * `takeInvitation` throws.
 */
export async function createInvitation(
  deps: Deps<Pool>,
  input: Governed & CreateInvitationInput,
  actor: Actor,
): Promise<z.output<typeof createdInvitation>> {
  const { organizationId, by } = input
  if (by === SYSTEM_ADMIN || actor.caller?.kind !== 'user' || actor.caller.sessionId === null)
    return insertInvitation(deps, input, actor)
  await getGovernedOrganization(deps, { organizationId, by }, actor)
  const attempts = await takeInvitation(deps, { organizationId, caller: actor.caller, isMailed: input.email != null })
  try {
    return await insertInvitation(deps, input, actor)
  } catch (error) {
    await giveBackAttempts(deps, attempts)
    throw error
  }
}

async function insertInvitation(
  deps: Deps<Pool>,
  { organizationId, by, ...input }: Governed & CreateInvitationInput,
  actor: Actor,
): Promise<z.output<typeof createdInvitation>> {
  const token = newOpaqueToken(TOKEN_PREFIXES.invitation)
  return transaction(deps, async (deps) => {
    await keepCaller(deps, actor)
    await lockGovernedOrganization(deps, { organizationId, by }, actor)
    const roleCodes = await validateMemberRoles(deps, input.role_codes, { by, held: [] })
    const app = input.app_code == null ? null : await getInvitingApp(deps, input.app_code)
    const now = deps.clock()
    const invitation = {
      id: newId(now),
      organization_id: organizationId,
      email: input.email ?? null,
      role_codes: roleCodes,
      grants_app: by === SYSTEM_ADMIN,
      invited_by: actor.caller?.kind === 'user' ? actor.caller.userId : null,
      created_at: now,
      expires_at: now + (input.expires_in_seconds ?? defaultLifeSeconds) * 1000,
      accepted_at: null,
      accepted_by: null,
    }
    await Invitation.insert(deps.db, { ...invitation, token_hash: hashOpaqueToken(token), app_id: app?.id ?? null })
    const { id, email } = invitation
    if (email !== null) await addInvitationMail(deps, { id, email, appId: app?.id ?? null, token }, actor.origin)
    const presented = presentInvitation({ ...invitation, app }, now)
    await recordEvent(deps, { event: 'invitation.created', actor, appId: app?.id ?? null, details: { after: presented } })
    return { ...presented, token, code: token }
  })
}

async function getInvitingApp(deps: Deps, code: string): Promise<Pick<App, 'id' | 'code'>> {
  const app = await App.findCode(deps.db, code)
  if (!app) throw fieldError('app_code', 'invalid_value', 'unknown app')
  return app
}

/**
 * All org_admins of an organization together may send this many times the limit of one: enough for a small team, while an
 * organization full of them stays limited.
 */
const organizationFactor = 4

interface InvitationByMember {
  organizationId: string
  caller: UserCaller
  isMailed: boolean
}

/**
 * Counts an invitation by an org_admin against the limits of the caller and of the organization. The caller's address must be
 * proven, since anybody can found an organization and mail strangers through it. A system_admin is not limited. Returns the
 * attempts; give them back if no invitation is made. Throws `email_unverified`, `rate_limited`.
 */
export async function takeInvitation(deps: Deps<Pool>, invitation: InvitationByMember): Promise<Attempt[]> {
  const { organizationId, caller, isMailed } = invitation
  if (caller.authority.refuseAdministration() === undefined) return []
  if (!hasProvenAddress(await getUser(deps, caller.userId)))
    throw new ApiError('email_unverified', { detail: 'Verify your address before you invite others' })
  if (isMailed) await limitUser(deps, caller)
  const limit = deps.config.invitationLimit
  return takeAttempts(deps, [
    [`invitations:user:${caller.userId}`, limit],
    [`invitations:organization:${organizationId}`, limit && { ...limit, count: limit.count * organizationFactor }],
  ])
}
