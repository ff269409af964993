import { dirname, resolve } from 'node:path'
import { toFailure } from '../command-line/exit-codes.ts'
import { isImageUrl, readLogo } from '../nouns/app-logo.ts'
import { readSource, sourceName } from '../terminal/read-source.ts'
import type { Tools } from '../tools/create-tools.ts'
import { checkReferences, findOrganizations } from './check-references.ts'
import { parseDeclaration } from './parse-declaration.ts'
import type { Plan } from './plan.ts'
import { planChanges } from './plan-changes.ts'
import { readInstallation } from './read-installation.ts'
import { rehearse, reportRefusals } from './rehearse.ts'
import type { Declaration, Fault } from './schema.ts'

export interface Prepared {
  plan: Plan
  /** By slug. */
  organizationIds: ReadonlyMap<string, string>
}

/** Reads the logos that the file names by a path, which begins where the file is. */
function readLogos({ apps = [] }: Declaration, file: string, fault: Fault): void {
  for (const [index, app] of apps.entries()) {
    if (app.logo === null || isImageUrl(app.logo)) continue
    try {
      app.logo = readLogo(resolve(file === '-' ? '.' : dirname(file), app.logo))
    } catch (thrown) {
      fault(['apps', index, 'logo'], toFailure(thrown).message)
    }
  }
}

/**
 * Compares a file with the installation and plans the changes. Throws all faults of the file, also those that the service finds.
 * Writes nothing.
 */
export async function prepare(
  { api, rehearsalApi, io }: Pick<Tools, 'api' | 'rehearsalApi' | 'io'>,
  { file, prune }: { file: string; prune: boolean },
): Promise<Prepared> {
  const parsed = await parseDeclaration(await readSource(io, file), sourceName(file))
  const { declaration, check } = parsed
  check((fault) => readLogos(declaration, file, fault))
  const installation = await readInstallation(api)
  const organizationIds = await findOrganizations(api, declaration)
  const planned = planChanges(declaration, installation, { prune })
  const { plan, refusals } = await rehearse(planned, { api: rehearsalApi, organizationIds, installation })
  check((fault) => {
    checkReferences(declaration, { installation, organizationIds, prune }, fault)
    reportRefusals(refusals, parsed, fault)
  })
  const { length } = plan.unlisted
  if (length > 0 && !prune) io.note(`entries that the file does not list stay unchanged (${length}); --prune deletes them`)
  return { plan, organizationIds }
}
