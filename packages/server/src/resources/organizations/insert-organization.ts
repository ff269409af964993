import { randomBytes } from 'node:crypto'
import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import type { Membership } from '../../lib/records.ts'
import { newId } from '../../lib/uuid.ts'
import { Organization, type OrganizationRow } from '../../models/organization.ts'
import { recordEvent } from '../audit/record-event.ts'
import { addMember } from './add-member.ts'
import { presentOrganization } from './present.ts'

const maxSlug = 80

/** The slug that a name suggests: ASCII letters and digits joined by hyphens. */
function slugOf(name: string): string {
  const slug = name
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, maxSlug)
    .replace(/-+$/, '')
  return slug === '' ? 'organization' : slug
}

/**
 * Inserts an organization. A slug made from the name gets a suffix if it is taken; a requested slug throws
 * `organization_slug_taken`.
 */
export async function insertOrganization(
  deps: Deps<Tx>,
  input: { name: string; slug?: string | null | undefined },
): Promise<OrganizationRow> {
  const now = deps.clock()
  const row = { id: newId(now), slug: input.slug ?? slugOf(input.name), name: input.name, created_at: now, updated_at: now }
  const wanted = row.slug
  while (!(await Organization.insert(deps.db, row))) {
    if (input.slug != null) throw slugTaken(input.slug)
    row.slug = `${wanted}-${randomBytes(3).toString('hex')}`
  }
  return row
}

export function slugTaken(slug: string, cause?: unknown): ApiError {
  return new ApiError('organization_slug_taken', { detail: `Another organization has the slug ${slug}`, cause })
}

const founderRole = 'org_admin'

/** Founds an organization with the user as its admin. A slug that is taken gets a suffix. */
export async function foundOrganization(
  deps: Deps<Tx>,
  input: { name: string; userId: string; appId: string | null },
  actor: Actor,
): Promise<Membership> {
  const organization = await insertOrganization(deps, { name: input.name })
  await recordEvent(deps, {
    event: 'organization.created',
    actor,
    userId: input.userId,
    appId: input.appId,
    details: { after: presentOrganization(organization) },
  })
  await addMember(deps, { organizationId: organization.id, userId: input.userId, roleCodes: [founderRole] }, actor)
  return { id: organization.id, slug: organization.slug, name: organization.name, role_codes: [founderRole] }
}
