// A setup file that `npm run record` adds. For each test it writes down every reply of the servers in this process, and the audit
// events and revocations that its databases hold when they are dropped.
import { subscribe } from 'node:diagnostics_channel'
import { appendFileSync } from 'node:fs'
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { createKnex } from '../../packages/server/src/db/knex.ts'
import { beforeDrop } from './database.ts'
import { recordVariable } from './lane.ts'

/** Something that a test made the service do: a reply, or a row of a database. */
export type Recorded = { test: string } & (RecordedReply | RecordedRow)

export interface RecordedReply {
  /** The method and the path. */
  call: string
  status: number
  headers: OutgoingHttpHeaders
  body: string
}

export interface RecordedRow {
  row: string
}

/** Survives from file to file, because vitest runs this file again for each. */
interface Recorder {
  test: string
  testsByRequest: Map<string, string>
}

const key = Symbol.for('gatehouse.recorder')
const shared = globalThis as { [key]?: Recorder }
shared[key] ??= startRecorder()
const recorder = shared[key]

// biome-ignore lint/correctness/noEmptyPattern: vitest demands a pattern.
beforeAll(({}, { file }) => {
  recorder.test = `${file.projectName}: ${file.name}`
})
beforeEach(({ task }) => {
  recorder.test = `${task.file.projectName}: ${task.fullName}`
})
// biome-ignore lint/correctness/noEmptyPattern: vitest demands a pattern.
afterAll(({}, { file }) => {
  recorder.test = `${file.projectName}: ${file.name}`
})

function startRecorder(): Recorder {
  const recorder: Recorder = { test: '', testsByRequest: new Map() }
  const file = join(process.env[recordVariable]!, `${process.pid}.jsonl`)
  const write = (recorded: Recorded) => appendFileSync(file, `${JSON.stringify(recorded)}\n`)
  subscribe('http.server.request.start', (message) => {
    const { request, response } = message as { request: IncomingMessage; response: ServerResponse }
    const { test } = recorder
    const bodyOf = keepBody(response)
    response.once('close', () => {
      const { statusCode, req } = response
      const requestId = response.getHeader('x-request-id')
      // The servers of others, such as receivers of webhooks.
      if (requestId === undefined) return
      recorder.testsByRequest.set(String(requestId), test)
      write({ test, call: `${req.method} ${request.url}`, status: statusCode, headers: response.getHeaders(), body: bodyOf() })
    })
  })
  beforeDrop(async (databaseUrl) => {
    for (const { requestId, row } of await readRows(databaseUrl))
      write({ test: recorder.testsByRequest.get(requestId ?? '') ?? recorder.test, row })
  })
  return recorder
}

/** Returns a function that gives what was written to the response so far. */
function keepBody(response: ServerResponse): () => string {
  const chunks: Buffer[] = []
  const keep = (chunk: unknown) => {
    if (typeof chunk === 'string') chunks.push(Buffer.from(chunk))
    else if (chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk))
  }
  const { write, end } = response
  response.write = (...words: unknown[]) => {
    keep(words[0])
    return Reflect.apply(write, response, words)
  }
  response.end = (...words: unknown[]) => {
    keep(words[0])
    return Reflect.apply(end, response, words)
  }
  return () => Buffer.concat(chunks).toString()
}

/** The audit events and revocations of a database. None if a test has broken it or dropped it already. */
async function readRows(databaseUrl: string): Promise<{ requestId?: string | null; row: string }[]> {
  const db = createKnex({ databaseUrl, dbPoolMax: 1 })
  try {
    const events: Record<string, string | number | null>[] = await db('audit_events').orderBy('id')
    const revocations: Record<string, number | null>[] = await db('revocations').orderBy('cursor')
    return [
      ...events.map(({ request_id, event, reason, audit_reason, actor_type, ip, details, ...ids }) => {
        const about = ['actor_id', 'user_id', 'app_id', 'email', 'user_agent'].filter((name) => ids[name] !== null)
        const known = JSON.stringify({ reason, audit_reason, ip, about, count: ids.count })
        return { requestId: request_id as string | null, row: `audit ${event} by ${actor_type} ${known} ${details}` }
      }),
      ...revocations.map(({ user_id, app_id, session_id, min_tv, min_iat }) => ({
        row: `revocation ${JSON.stringify({ user_id, app_id, session_id, min_tv, min_iat })}`,
      })),
    ]
  } catch {
    return []
  } finally {
    await db.destroy()
  }
}
