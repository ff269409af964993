import { randomBytes } from 'node:crypto'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import type { Membership } from '../../lib/records.ts'
import { newId } from '../../lib/uuid.ts'
import { recordEvent } from '../audit/record-event.ts'
import { addMember } from './add-member.ts'

const maxSlug = 80
const founderRole = 'org_admin'

/** The slug that a name suggests: ASCII letters and digits joined by hyphens. */
export function slugOf(name: string): string {
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

/** Founds an organization with the user as its admin (contract 4.4 step 5); a suffix is added to a slug that is taken. */
export async function foundOrganization(
  deps: Deps,
  input: { name: string; userId: string; appId: string | null },
  actor: Actor,
): Promise<Membership> {
  const now = deps.clock()
  const id = newId(now)
  const wanted = slugOf(input.name)
  let slug = wanted
  // A conflict is skipped, not thrown: an error would end the transaction that registers the user.
  while (!(await insertOrganization(deps, { id, slug, name: input.name, created_at: now, updated_at: now }))) {
    slug = `${wanted}-${randomBytes(3).toString('hex')}`
  }
  await addMember(deps, { organizationId: id, userId: input.userId, roleCodes: [founderRole] })
  await recordEvent(deps, {
    event: 'organization.created',
    actor,
    userId: input.userId,
    appId: input.appId,
    details: { id, slug, name: input.name },
  })
  return { id, slug, name: input.name, role_codes: [founderRole] }
}

async function insertOrganization(
  deps: Deps,
  row: { id: string; slug: string; name: string; created_at: number; updated_at: number },
): Promise<boolean> {
  const inserted = await deps.db('organizations').insert(row).onConflict('slug').ignore().returning('id')
  return inserted.length > 0
}
