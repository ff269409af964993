// Every status and code that a route declares is seen in some test, on each database; in the fast lane, on either. So is an audit event
// of every route that writes. The services of the tests note what they answered; after a whole run of all projects on a database its
// notes are held against the declarations.
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { TestProject, Vitest } from 'vitest/node'
import { listRootRoutes, listRoutes } from '../../packages/server/src/app.ts'
import { errorsOf } from '../../packages/server/src/http/openapi.ts'
import { isFastLane } from './lane.ts'

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
    const isAudited = route.method !== 'GET' && !unaudited.has(name)
    return [...successes, ...errors, ...(isAudited ? [`${name} audited`] : [])]
  })
}

/** What changes nothing that an auditor would ask about: it asks, or it only sends a mail to an address. */
const unaudited: ReadonlySet<string> = new Set([
  'POST /auth/introspect',
  'POST /auth/refresh',
  'POST /auth/email/resend',
  'POST /auth/password/forgot',
  'POST /auth/magic-link',
])

/** The notes of what is judged together, from all of its projects. Global, since vitest loads this file anew for each project. */
interface Notes {
  folder: string
  file: string
}

const key = Symbol.for('gatehouse.replies')
const shared = globalThis as { [key]?: Map<string, Notes> }

export default function setup(project: TestProject): () => Promise<void> {
  shared[key] ??= new Map()
  const byDatabase = shared[key]
  const database = databaseOf(project)!
  const notes = byDatabase.get(database) ?? startNotes()
  byDatabase.set(database, notes)
  project.provide('repliesFile', notes.file)
  return async () => {
    // All projects end after the last test, so whichever comes first can answer for all of its database's.
    if (!byDatabase.delete(database)) return
    const seen = new Set(readFileSync(notes.file, 'utf8').split('\n'))
    rmSync(notes.folder, { recursive: true, force: true })
    if (!ranWhole(database, project.vitest)) return
    const missing = declaredReplies().filter((reply) => !seen.has(reply))
    if (missing.length === 0) return
    throw new Error(`no test on ${database} saw these declared replies:\n  ${missing.join('\n  ')}`)
  }
}

function startNotes(): Notes {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-replies-'))
  const file = join(folder, 'replies')
  writeFileSync(file, '')
  return { folder, file }
}

/**
 * What the replies of a project are judged as: those of its database, or of any in the fast lane. Undefined for a project that has
 * none; the types do not know that it may have no settings at all.
 */
function databaseOf({ config }: TestProject): string | undefined {
  const database = (config.env as Record<string, string> | undefined)?.TEST_DATABASE
  return database !== undefined && isFastLane ? 'either database' : database
}

/** Whether every test on the database ran and passed; a part of them has nothing to say about what is missing. */
function ranWhole(database: string, vitest: Vitest): boolean {
  if (vitest.config.testNamePattern !== undefined || vitest.state.getCountOfFailedTests() > 0) return false
  const modules = vitest.state.getTestModules()
  const ran = new Set(modules.filter(({ project }) => databaseOf(project) === database).map(({ moduleId }) => moduleId))
  return contractFiles().every((file) => ran.has(file))
}

/** All of the contract's test files, also those of projects that this run was told to leave out. */
function contractFiles(): string[] {
  return globSync('test/contract/**/*.test.ts').map((file) => resolve(file))
}
