const scheme = /^postgres(ql)?:\/\//

/**
 * The parts of `postgres://USER:PASSWORD@HOST,HOST/DATABASE?…`. The hosts begin after the last `@`: a password may have commas.
 */
function partsOf(url: string): { before: string; hosts: string[]; after: string } {
  const [start = ''] = scheme.exec(url) ?? []
  const rest = url.slice(start.length)
  const end = rest.search(/[/?#]/)
  const authority = end === -1 ? rest : rest.slice(0, end)
  const hostsAt = authority.lastIndexOf('@') + 1
  return {
    before: start + authority.slice(0, hostsAt),
    hosts: authority.slice(hostsAt).split(','),
    after: rest.slice(authority.length),
  }
}

/** The URL of each host that a DATABASE_URL for Postgres names: `postgres://a:5432,b:5432/db` names two. */
export function urlsOfHosts(databaseUrl: string): [string, ...string[]] {
  const { before, hosts, after } = partsOf(databaseUrl)
  const [first = '', ...others] = hosts.map((host) => `${before}${host}${after}`)
  return [first, ...others]
}

/** Why a DATABASE_URL is invalid, or undefined. Repeats no part of the URL, since an odd password may look like a host. */
export function faultOfDatabaseUrl(databaseUrl: string): string | undefined {
  if (/^sqlite:./.test(databaseUrl)) return undefined
  if (!scheme.test(databaseUrl)) return 'must be sqlite:PATH or postgres://…'
  const { before, hosts, after } = partsOf(databaseUrl)
  if (hosts.length > 1) {
    if (/[?&](host|port)=/.test(after)) return 'names several hosts, so it must not have ?host= or ?port= as well'
    const unnamed = hosts.findIndex((host) => /^(:|$)/.test(host))
    if (unnamed !== -1) return `has no host name at position ${unnamed + 1} of ${hosts.length}`
  }
  // Without a host, this machine is meant. `URL` cannot parse a user without a host, so put one in.
  const unreadable = hosts.findIndex((host) => !URL.canParse(`${before}${host || 'localhost'}${after}`))
  if (unreadable === -1) return undefined
  const place = hosts.length > 1 ? ` at host ${unreadable + 1} of ${hosts.length}` : ''
  return `cannot be read${place}: ports are numbers up to 65535, and in a user or password write %40 for @, %2F for /, %3A for :`
}

/** Engines that speak the protocol of Postgres but silently break a promise of the service, by their `version()`. */
const strangers: [name: string, version: RegExp][] = [
  ['CockroachDB', /cockroachdb/i],
  ['YugabyteDB', /-YB-/],
  ['Redshift', /\bredshift\b/i],
  ['Greenplum', /\bgreenplum\b/i],
  ['Materialize', /\bmaterialize/i],
  ['RisingWave', /risingwave/i],
  ['QuestDB', /questdb/i],
  ['CrateDB', /cratedb/i],
  ['CedarDB', /cedardb/i],
  ['openGauss', /gauss/i],
  ['Postgres-XL', /postgres-x[cl]\b/i],
]

/** Why the service does not run on the engine with this `version()`. Undefined if it does. */
export function faultOfEngine(version: string): string | undefined {
  const [name] = strangers.find(([, pattern]) => pattern.test(version)) ?? []
  if (name === undefined && /^(PostgreSQL|EnterpriseDB) \d/.test(version)) return undefined
  const engine = name ?? `“${version.slice(0, 60)}”`
  return `the database is ${engine}, not PostgreSQL: its advisory locks, row locks and LISTEN may silently do nothing`
}
