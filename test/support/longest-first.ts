// Runs the longest files first, by the times that `npm test -- --full --weigh` last wrote down. Otherwise a long file that starts
// last would keep one worker busy while the others are done.
import { readFileSync, writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { TestModule, TestSequencer, TestSpecification, Vitest } from 'vitest/node'

const file = fileURLToPath(new URL('../weights.json', import.meta.url))

/** Seconds by project and file. */
type Weights = Record<string, Record<string, number>>

const weights: Weights = JSON.parse(readFileSync(file, 'utf8'))

export default class LongestFirst implements TestSequencer {
  readonly #root: string

  constructor({ config }: Vitest) {
    this.#root = config.root
  }

  /**
   * A worker is reused for files of the same project, so these stay together. The project with the shortest files comes last, so
   * that no worker is left with a long file while the others are done.
   */
  sort(specifications: TestSpecification[]): TestSpecification[] {
    const average = new Map<string, number>()
    for (const { name } of new Set(specifications.map(({ project }) => project))) {
      const all = specifications.filter(({ project }) => project.name === name).map((each) => this.#weigh(each))
      average.set(name, all.reduce((sum, weight) => sum + weight, 0) / all.length)
    }
    const byProject = (one: string, other: string) => average.get(other)! - average.get(one)! || (one < other ? -1 : 1)
    return [...specifications].sort((one, other) =>
      one.project.name === other.project.name
        ? this.#weigh(other) - this.#weigh(one)
        : byProject(one.project.name, other.project.name),
    )
  }

  shard(specifications: TestSpecification[]): TestSpecification[] {
    return specifications
  }

  /** The recorded time in the project, or else in another project. A file without any may be long. */
  #weigh({ project, moduleId }: TestSpecification): number {
    const path = relative(this.#root, moduleId)
    const others = Object.values(weights).flatMap((files) => files[path] ?? [])
    return weights[project.name]?.[path] ?? others[0] ?? 1_000
  }
}

/** Saves how long each file took. Call it only after a run of all files. */
export function writeWeights(modules: readonly TestModule[]): void {
  const found: Weights = {}
  for (const module of modules) {
    const { duration, collectDuration } = module.diagnostic()
    found[module.project.name] ??= {}
    found[module.project.name]![module.relativeModuleId] = Math.round((duration + collectDuration) / 100) / 10
  }
  const sorted = (names: Record<string, unknown>) => Object.keys(names).sort()
  const ordered = Object.fromEntries(
    sorted(found).map((project) => [
      project,
      Object.fromEntries(sorted(found[project]!).map((name) => [name, found[project]![name]])),
    ]),
  )
  writeFileSync(file, `${JSON.stringify(ordered, null, 2)}\n`)
}
