import { randomBytes } from 'node:crypto'
import { createRequire } from 'node:module'
import { createDatabase, type DatabaseKind, type Templates } from '../../support/database.ts'

const { Client } = createRequire(new URL('../../../packages/server/package.json', import.meta.url))('pg')

/** A database without tables, for a peer that creates its own. */
export async function emptyDatabase(kind: DatabaseKind, templates: Templates): Promise<string> {
  const { url } = await createDatabase(kind, templates)
  if (kind === 'sqlite') return url.replace(/\.db$/, `-${randomBytes(4).toString('hex')}-peer.db`)
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query('drop schema public cascade; create schema public')
  await client.end()
  return url
}
