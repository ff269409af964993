import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { urlsOfHosts } from '../lib/database.ts'
import { inFlight } from '../lib/in-flight.ts'
import { type Endpoint, inspectConnection, type Lineage } from './inspect-connection.ts'

/** How long a host may take to say what it is. Shorter than a request waits for a connection. */
const probeMs = 1_000
/** Once one host takes writes, how long to wait for others that may be its successor. */
const graceMs = 150

type Candidate = Endpoint & { url: string }

/**
 * Which of the hosts of DATABASE_URL takes writes, and the newest history that this process has seen. All connections of a
 * process share it, so that none of them follows a database that another one knows to be replaced.
 */
export class Primary {
  readonly #urls: readonly [string, ...string[]]
  /** The host that took writes when it was last asked. */
  #found: string | undefined
  #lineage: Lineage | undefined
  #era = 0
  readonly #search = inFlight(() => this.#ask())

  constructor(databaseUrl: string) {
    this.#urls = urlsOfHosts(databaseUrl)
    this.doubt()
  }

  get hasSeveralHosts(): boolean {
    return this.#urls.length > 1
  }

  /** The history that the connections follow. Undefined before the first, and if the engine does not report it. */
  get lineage(): Lineage | undefined {
    return this.#lineage
  }

  /** Increases when the process follows another history, after a failover. Connections from an earlier era are useless. */
  get era(): number {
    return this.#era
  }

  /** Whether new connections still go to the host that `find` gave. Each pool asks, since another one may have searched again. */
  isStill(url: string): boolean {
    return this.#found === url
  }

  /** Call it when there may be a new primary. If there are several hosts, `find` then searches again. */
  doubt(): void {
    this.#found = this.hasSeveralHosts ? undefined : this.#urls[0]
  }

  /** The URL of the host that takes writes. A single host is not asked, since connecting will tell. Throws if there is none. */
  async find(): Promise<string> {
    return this.#found ?? this.#search()
  }

  /** Returns the era of a new connection. Throws if it leads to a standby, to no Postgres, or to a history that was replaced. */
  admit({ engineFault, isStandby, lineage }: Endpoint): number {
    if (engineFault !== undefined) throw new Error(engineFault)
    if (isStandby) throw new Error('the database is a standby, and may be behind')
    if (lineage === undefined) return this.#era
    if (this.#isReplaced(lineage)) {
      const { timeline } = this.#lineage!
      throw new Error(
        `the database is on timeline ${lineage.timeline}, but this process has seen its successor on timeline ${timeline}`,
      )
    }
    // An engine may fail to tell for the first connection alone, so the first lineage that is known is no failover.
    const known = this.#lineage ?? lineage
    this.#lineage = lineage
    if (lineage.cluster !== known.cluster || lineage.timeline !== known.timeline) this.#era += 1
    return this.#era
  }

  #isReplaced({ cluster, timeline }: Lineage): boolean {
    return this.#lineage !== undefined && this.#lineage.cluster === cluster && timeline < this.#lineage.timeline
  }

  async #ask(): Promise<string> {
    const faults: string[] = []
    const takers: Candidate[] = []
    const ask = async (url: string) => {
      const fault = await this.#probe(url).then(
        (candidate) => this.#faultOf(candidate) ?? void takers.push(candidate),
        (error: Error) => error.message || String(error),
      )
      if (fault === undefined) return
      faults.push(`${new URL(url).host}: ${fault}`)
      throw new Error(fault)
    }
    const asking = this.#urls.map(ask)
    const all = Promise.allSettled(asking)
    const some = Promise.any(asking).then(() => sleep(graceMs))
    await Promise.race([all, some.catch(() => all)])
    // Two hosts take writes while one of them has not noticed yet that it was replaced.
    const [newest] = takers.sort((a, b) => (b.lineage?.timeline ?? 0) - (a.lineage?.timeline ?? 0))
    if (newest === undefined) throw new Error(`no host accepts writes (${faults.join('; ')})`)
    this.#found = newest.url
    return newest.url
  }

  #faultOf({ engineFault, isStandby, isReadOnly, lineage }: Candidate): string | undefined {
    if (engineFault !== undefined) return engineFault
    if (isStandby) return 'a standby'
    if (isReadOnly) return 'read-only'
    return lineage !== undefined && this.#isReplaced(lineage) ? `replaced, on timeline ${lineage.timeline}` : undefined
  }

  async #probe(url: string): Promise<Candidate> {
    const client = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: probeMs,
      application_name: 'gatehouse-probe',
    })
    client.on('error', () => {})
    try {
      await client.connect()
      return { url, ...(await inspectConnection(asConnection(client), probeMs)) }
    } finally {
      // Do not wait for a host that does not answer.
      client.end().catch(() => {})
    }
  }
}

/** Adds what pg does not declare of its client. */
export function asConnection(client: pg.Client) {
  const processID = 'processID' in client && typeof client.processID === 'number' ? client.processID : null
  return { processID, query: (question: { text: string; query_timeout: number | undefined }) => client.query(question) }
}
