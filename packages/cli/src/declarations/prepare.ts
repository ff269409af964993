import { readSource, sourceName } from '../terminal/read-source.ts'
import type { Tools } from '../tools/create-tools.ts'
import { checkReferences, findOrganizations } from './check-references.ts'
import { parseDeclaration } from './parse-declaration.ts'
import type { Plan } from './plan.ts'
import { planChanges } from './plan-changes.ts'
import { readInstallation } from './read-installation.ts'

export interface Prepared {
  plan: Plan
  /** By slug. */
  organizationIds: ReadonlyMap<string, string>
}

/** Compares a file with the installation and plans the changes. Throws all faults of the file. Writes nothing. */
export async function prepare(
  { api, io }: Pick<Tools, 'api' | 'io'>,
  { file, prune }: { file: string; prune: boolean },
): Promise<Prepared> {
  const { declaration, check } = await parseDeclaration(await readSource(io, file), sourceName(file))
  const installation = await readInstallation(api)
  const organizationIds = await findOrganizations(api, declaration)
  check((fault) => checkReferences(declaration, { installation, organizationIds, prune }, fault))
  const plan = planChanges(declaration, installation, { prune })
  const { length } = plan.unlisted
  if (length > 0 && !prune) io.note(`entries that the file does not list stay unchanged (${length}); --prune deletes them`)
  return { plan, organizationIds }
}
