import { type Db, isPostgres } from './handle.ts'

type Values = Readonly<Record<string, string | number | null>>

/** Postgres gives an object with rows and their count; SQLite gives the rows, or how many rows it changed. */
type Answer<Row> = Row[] | { rows?: Row[]; rowCount?: number; changes?: number }

/** The part of knex's client that is used here. */
interface Client {
  /** SQLite: the connection, if it is free. */
  idleConnection?(): unknown
  acquireConnection(): Promise<unknown>
  releaseConnection(connection: unknown): void
  query<Row>(connection: unknown, statement: Sent): Promise<{ response: Answer<Row> }>
  _query<Row>(connection: unknown, statement: Sent): Promise<{ response: Answer<Row> }>
}

interface Sent {
  sql: string
  bindings: readonly unknown[]
  options: { name: string } | undefined
}

/** SQL with a placeholder for each value, and the names of the values in the order of the placeholders. */
interface Placed {
  text: string
  names: readonly string[]
}

const value = /(?<!:):([a-z]\w*)/gi
let named = 0

/**
 * A statement of a hot path, in SQL that both databases accept, with `:name` for a value. knex would compose its text at each
 * call, which costs more than running it. Postgres parses and plans it once per connection. It runs on its handle's connection,
 * also inside a transaction.
 *
 * SQLite cannot write to several tables in one statement. It runs `parts` instead, in a transaction. If the first part changes
 * nothing, the others do not run.
 */
export class Statement<Row = never> {
  readonly #postgres: Placed
  readonly #sqlite: Placed
  readonly #further: readonly Placed[]
  readonly #name = `gatehouse_${++named}`

  constructor(sql: string, [first, ...further]: readonly [string, ...string[]] = [sql]) {
    this.#postgres = numbered(sql)
    this.#sqlite = marked(first)
    this.#further = further.map(marked)
  }

  async all(db: Db, values: Values): Promise<Row[]> {
    const answer = await this.#run(db, values)
    return Array.isArray(answer) ? answer : (answer.rows ?? [])
  }

  async first(db: Db, values: Values): Promise<Row | undefined> {
    return (await this.all(db, values))[0]
  }

  /** Returns how many rows it changed. On SQLite, with parts, only the first of them counts. */
  async run(db: Db, values: Values): Promise<number> {
    const answer = await this.#run(db, values)
    return Array.isArray(answer) ? answer.length : (answer.rowCount ?? answer.changes ?? 0)
  }

  async #run(db: Db, values: Values): Promise<Answer<Row>> {
    const client: Client = db.client
    // knex's `query` scans the text of each statement three times. In a transaction it also rejects statements after the end.
    const query = db.isTransaction ? 'query' : '_query'
    const sendOn =
      (connection: unknown): Send<Row> =>
      async ({ text, names }, options) => {
        const bindings = names.map((name) => values[name])
        return (await client[query]<Row>(connection, { sql: text, bindings, options })).response
      }
    // The SQLite driver is synchronous. If the connection is free, a statement need not acquire it from the pool.
    const idle = db.isTransaction || this.#further.length > 0 ? undefined : client.idleConnection?.()
    if (idle !== undefined) return sendOn(idle)(this.#sqlite)
    const connection = await client.acquireConnection()
    const send = sendOn(connection)
    try {
      if (isPostgres(db)) return await send(this.#postgres, { name: this.#name })
      if (this.#further.length === 0) return await send(this.#sqlite)
      return await sendParts([this.#sqlite, ...this.#further], send, db.isTransaction === true)
    } finally {
      client.releaseConnection(connection)
    }
  }
}

type Send<Row> = (statement: Placed, options?: { name: string }) => Promise<Answer<Row>>

async function sendParts<Row>(
  [first, ...further]: readonly [Placed, ...Placed[]],
  send: Send<Row>,
  isTransaction: boolean,
): Promise<Answer<Row>> {
  const say = async (text: string) => {
    if (!isTransaction) await send({ text, names: [] })
  }
  await say('BEGIN IMMEDIATE')
  try {
    const answer = await send(first)
    if (Array.isArray(answer) || answer.changes !== 0) for (const part of further) await send(part)
    await say('COMMIT')
    return answer
  } catch (error) {
    // A full disk has already ended the transaction. Report the first error, not this one.
    await say('ROLLBACK').catch(() => {})
    throw error
  }
}

/** Postgres placeholders: `$1` and so on, one for each name. */
function numbered(sql: string): Placed {
  const names: string[] = []
  const text = sql.replace(value, (_, name: string) => {
    if (!names.includes(name)) names.push(name)
    return `$${names.indexOf(name) + 1}`
  })
  return { text, names }
}

/** SQLite placeholders: a `?` at each place. */
function marked(sql: string): Placed {
  const names: string[] = []
  const text = sql.replace(value, (_, name: string) => {
    names.push(name)
    return '?'
  })
  return { text, names }
}
