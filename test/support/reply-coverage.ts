// Every status and code that a route declares is seen in some test, on each database. The services of the tests note what they
// answered; after a whole run the notes are held against the declarations.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { listRootRoutes, listRoutes } from '../../packages/server/src/app.ts'
import { errorsOf } from '../../packages/server/src/http/openapi.ts'

declare module 'vitest' {
  interface ProvidedContext {
    repliesFile: string
  }
}

function declaredReplies(): string[] {
  return [...listRoutes(), ...listRootRoutes()].flatMap((route) => {
    const name = `${route.method} ${route.path}`
    const successes = Object.keys(route.responses).map((status) => `${name} ${status}`)
    const errors = [...errorsOf(route)].flatMap(([status, codes]) => codes.map((code) => `${name} ${status} ${code}`))
    return [...successes, ...errors]
  })
}

export default function setup(project: TestProject): () => Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-replies-'))
  const file = join(folder, 'replies')
  writeFileSync(file, '')
  project.provide('repliesFile', file)
  return async () => {
    const seen = new Set(readFileSync(file, 'utf8').split('\n'))
    rmSync(folder, { recursive: true, force: true })
    if (!(await ranWhole(project))) return
    const missing = declaredReplies().filter((reply) => !seen.has(reply))
    if (missing.length === 0) return
    throw new Error(`no test of project ${project.name} saw these declared replies:\n  ${missing.join('\n  ')}`)
  }
}

/** Whether every test of the project ran and passed; a part of them has nothing to say about what is missing. */
async function ranWhole(project: TestProject): Promise<boolean> {
  if (project.name === 'postgres, many connections') return false
  const { state, config } = project.vitest
  const { testFiles } = await project.globTestFiles()
  const ran = state.getTestModules().filter((module) => module.project === project)
  return ran.length === testFiles.length && config.testNamePattern === undefined && state.getCountOfFailedTests() === 0
}
