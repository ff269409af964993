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
