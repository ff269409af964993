// Checks that some test sees every status and code that a route declares, and an audit event of every route that writes: on each
// database, or on either in the fast lane. The test services note what they answered; after a complete run of all projects on a
// database, the notes are compared with the declarations.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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

/** Routes that change nothing an auditor would ask about: they only look something up, renew tokens or send a mail. */
const unaudited: ReadonlySet<string> = new Set([
  'POST /auth/introspect',
  'POST /auth/refresh',
  'POST /auth/email/resend',
  'POST /auth/password/forgot',
  'POST /auth/magic-link',
  'POST /auth/email-code',
  'POST /magic-link',
  'POST /oauth/device_authorization',
  'POST /oauth/userinfo',
  // It leads on to the page where the person allows or refuses.
  'POST /device',
])

/** The notes of all projects that are checked together. Global, since vitest loads this file again for each project. */
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
    // All projects end after the last test, so the first one to get here can check for all projects of its database.
    if (!byDatabase.delete(database)) return
    const seen = new Set(readFileSync(notes.file, 'utf8').split('\n'))
    rmSync(notes.folder, { recursive: true, force: true })
    if (!(await ranWhole(database, project.vitest))) return
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
 * The group whose replies are checked together: those of one database, or of both in the fast lane. Undefined for a project
 * without a database. The cast is needed because the types do not know that a project may have no settings at all.
 */
function databaseOf({ config }: TestProject): string | undefined {
  const database = (config.env as Record<string, string> | undefined)?.TEST_DATABASE
  return database !== undefined && isFastLane ? 'either database' : database
}

/** Whether every file of the lane on the database ran, and all tests passed. After a partial run, missing replies mean nothing. */
async function ranWhole(database: string, vitest: Vitest): Promise<boolean> {
  if (vitest.config.testNamePattern !== undefined || vitest.state.getCountOfFailedTests() > 0) return false
  const ran = new Set(vitest.state.getTestModules().map(({ project, moduleId }) => `${project.name} ${moduleId}`))
  const projects = vitest.projects.filter((project) => databaseOf(project) === database)
  const files = await Promise.all(
    projects.map(async (project) => (await project.globTestFiles()).testFiles.map((file) => `${project.name} ${file}`)),
  )
  return files.flat().every((file) => ran.has(file))
}
