import { type Db, isTx } from './handle.ts'

type Values = Readonly<Record<string, string | number | null>>

/** Postgres gives an object with rows and their count; SQLite gives the rows, or how many rows it changed. */
type Answer<Row> = Row[] | { rows?: Row[]; rowCount?: number; changes?: number }

/** The part of knex's client that is used here. */
interface Client {
  acquireConnection(): Promise<unknown>
  releaseConnection(connection: unknown): void
  _query<Row>(connection: unknown, statement: Sent): Promise<{ response: Answer<Row> }>
  // SQLite alone has the last two.
  idleConnection?(): unknown
  runNow?<Row>(connection: unknown, statements: readonly Sent[]): Answer<Row>
}

interface Sent {
  sql: string
  bindings: readonly unknown[]
  options?: { name: string }
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
  readonly #sqlite: readonly Placed[]
  readonly #name = `gatehouse_${++named}`

  constructor(sql: string, parts: readonly [string, ...string[]] = [sql]) {
    // Postgres refuses a prepared statement whose columns change, and a migration of a next version adds some while this one runs.
    if (/\breturning \*/i.test(sql)) throw new Error('a statement names the columns that it returns')
    this.#postgres = numbered(sql)
    this.#sqlite = parts.map(marked)
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
    const bind = ({ text, names }: Placed): Sent => ({ sql: text, bindings: names.map((name) => values[name]) })
    if (isTx(db) && db.isCompleted()) throw new Error('the transaction has ended')
    // If SQLite's connection is free, or held by this transaction, a statement need not acquire it from the pool.
    const idle = client.idleConnection?.()
    if (idle !== undefined && client.runNow) return client.runNow(idle, this.#sqlite.map(bind))
    const connection = await client.acquireConnection()
    try {
      if (client.runNow) return client.runNow(connection, this.#sqlite.map(bind))
      const statement = { ...bind(this.#postgres), options: { name: this.#name } }
      // knex's `query` scans the text of each statement three times.
      return (await client._query<Row>(connection, statement)).response
    } finally {
      client.releaseConnection(connection)
    }
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
