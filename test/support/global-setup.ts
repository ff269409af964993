import type { TestProject } from 'vitest/node'
import { type DatabaseKind, prepareTemplates } from './database.ts'
import { buildPrograms, type Programs } from './programs.ts'

/** Shared by the whole run. It is not module state, because vitest loads this file again for each project that names it. */
interface Preparations {
  byKind: Map<DatabaseKind, ReturnType<typeof prepareTemplates>>
  programs: Promise<Programs>
  users: number
}

const key = Symbol.for('gatehouse.preparations')
const shared = globalThis as { [key]?: Preparations }

/** Vitest calls this only for projects that have a file to run, so PostgreSQL is not started for `unit` and `sqlite`. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  shared[key] ??= { byKind: new Map(), programs: buildPrograms(), users: 0 }
  const preparations = shared[key]
  const kinds = kindsOf(project.name)
  for (const kind of kinds) {
    if (!preparations.byKind.has(kind)) preparations.byKind.set(kind, prepareTemplates([kind]))
  }
  preparations.users += 1
  const prepared = await Promise.all(kinds.map((kind) => preparations.byKind.get(kind)))
  project.provide('programs', await preparations.programs)
  project.provide('templates', Object.assign({}, ...prepared.map((each) => each?.templates)))

  return async () => {
    preparations.users -= 1
    if (preparations.users > 0) return
    delete shared[key]
    await Promise.allSettled([...preparations.byKind.values()].map(async (each) => (await each).stop()))
  }
}

function kindsOf(project: string): readonly DatabaseKind[] {
  if (['browser', 'browser, postgres', 'faults', 'programs'].includes(project)) return ['sqlite', 'postgres']
  return [project.startsWith('postgres') ? 'postgres' : 'sqlite']
}
