import { readFileSync } from 'node:fs'

/** A fault that somebody could make, and the tests that stand next to it: one of them has to fail when it is there. */
export interface PlantedFault {
  /** What would go wrong. */
  title: string
  /** From the root of the repository. */
  file: string
  /** Stands exactly once in the file. */
  search: string
  replace: string
  tests: readonly string[]
  /** Where the fault shows; SQLite when nothing is said. */
  database?: 'sqlite' | 'postgres' | 'postgres, many connections'
}

/** Why a fault cannot be planted in the file as it is now, or undefined. */
export function misfitOf({ file, search, replace }: PlantedFault): string | undefined {
  const places = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8').split(search).length - 1
  if (places !== 1) return `what it replaces stands ${places} times in ${file}`
  return search === replace ? 'it changes nothing' : undefined
}

export const server = (path: string) => `packages/server/src/${path}`
export const contract = (...names: string[]) => names.map((name) => `test/contract/${name}.test.ts`)
