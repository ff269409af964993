import { randomBytes } from 'node:crypto'
import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { newId } from '../../lib/uuid.ts'
import { Organization, type OrganizationRow } from '../../models/organization.ts'

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
