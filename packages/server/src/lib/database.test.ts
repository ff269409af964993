import { describe, expect, test } from 'vitest'
import { faultOfDatabaseUrl, faultOfEngine, urlsOfHosts } from './database.ts'

describe('the hosts of a DATABASE_URL', () => {
  test.each([
    ['postgres://db/app', ['postgres://db/app']],
    [
      'postgres://a:5432,b:5433/app?sslmode=require',
      ['postgres://a:5432/app?sslmode=require', 'postgres://b:5433/app?sslmode=require'],
    ],
    ['postgresql://u:p@a,b,c/app', ['postgresql://u:p@a/app', 'postgresql://u:p@b/app', 'postgresql://u:p@c/app']],
    ['postgres://u:p,w@x@a,b', ['postgres://u:p,w@x@a', 'postgres://u:p,w@x@b']],
    ['postgres://[::1]:5432,[fe80::2]/app', ['postgres://[::1]:5432/app', 'postgres://[fe80::2]/app']],
    ['postgres://u@%2Frun%2Fa,%2Frun%2Fb/app', ['postgres://u@%2Frun%2Fa/app', 'postgres://u@%2Frun%2Fb/app']],
    ['postgres://u@a/app?options=-c%20x=1,2', ['postgres://u@a/app?options=-c%20x=1,2']],
  ])('the hosts of %s are found', (url, urls) => {
    expect(urlsOfHosts(url)).toEqual(urls)
    expect(faultOfDatabaseUrl(url)).toBeUndefined()
  })
})

describe('a wrong DATABASE_URL', () => {
  test.each([
    ['mysql://root:hunter2@db/app', /^must be sqlite:PATH or postgres:/],
    ['sqlite:', /^must be sqlite:PATH or postgres:/],
    ['postgres://u:hunter2@a,,b/app', /^has no host name at position 2 of 3$/],
    ['postgres://u:hunter2@a:5432,:5433/app', /^has no host name at position 2 of 2$/],
    ['postgres://u:hunter2@a,/app', /^has no host name at position 2 of 2$/],
    ['postgres://u:hunter2@a,b/app?host=/run', /\?host=/],
    ['postgres://u:hunter2@a,b/app?sslmode=require&port=1', /\?port=/],
    ['postgres://u:hunter2@a:5432,b:65536/app', /at host 2 of 2: ports/],
    ['postgres://u:hunter2@a:port/app', /^cannot be read: ports/],
    ['postgres://u:hunt/er2@a/app', /%2F for \//],
  ])('the fault of %s names what is wrong and repeats no part of the URL', (url, fault) => {
    expect(faultOfDatabaseUrl(url)).toMatch(fault)
    expect(faultOfDatabaseUrl(url)).not.toMatch(/hunt/)
  })

  test.each(['postgres:///app', 'postgres://u@/app?host=/run/postgresql', 'postgres://db', 'sqlite:./x.db'])(
    '%s is accepted',
    (url) => {
      expect(faultOfDatabaseUrl(url)).toBeUndefined()
    },
  )
})

test.each([
  'PostgreSQL 18.4 on x86_64-pc-linux-gnu, compiled by gcc (GCC) 13.2.0, 64-bit',
  'PostgreSQL 15.18 (Debian 15.18-0+deb12u1) on x86_64-pc-linux-gnu, compiled by gcc (Debian 12.2.0-14+deb12u1) 12.2.0, 64-bit',
  'PostgreSQL 16.6 on aarch64-unknown-linux-gnu, compiled by aarch64-unknown-linux-gnu-gcc (GCC) 9.5.0, 64-bit',
  'PostgreSQL 15.2 (EnterpriseDB Advanced Server 15.2.0) on x86_64-pc-linux-gnu, compiled by gcc, 64-bit',
  'PostgreSQL 17.5 (6bc9ef8) on aarch64-unknown-linux-gnu, compiled by clang version 14, 64-bit',
  'PostgreSQL 18beta1 on x86_64-windows, compiled by msvc-19.43.34808, 64-bit',
])('%s is accepted as a database', (version) => {
  expect(faultOfEngine(version)).toBeUndefined()
})

test.each([
  ['CockroachDB', 'CockroachDB CCL v23.1.11 (x86_64-pc-linux-gnu, built 2023/09/27 01:53:43, go1.19.10)'],
  ['YugabyteDB', 'PostgreSQL 11.2-YB-2.18.0.1-b0 on x86_64-pc-linux-gnu, compiled by clang version 15.0.3, 64-bit'],
  ['YugabyteDB', 'PostgreSQL 15.2-YB-2025.1.0.0-b168 on x86_64-pc-linux-gnu, compiled by clang version 19.1.6, 64-bit'],
  [
    'Redshift',
    'PostgreSQL 8.0.2 on i686-pc-linux-gnu, compiled by GCC gcc (GCC) 3.4.2 20041017 (Red Hat 3.4.2-6.fc3), Redshift 1.0.12103',
  ],
  ['Greenplum', 'PostgreSQL 12.12 (Greenplum Database 7.0.0 build commit:0a7a3566) on x86_64-pc-linux-gnu, compiled by gcc'],
  ['Materialize', 'PostgreSQL 9.5 on x86_64-unknown-linux-gnu (Materialize 26.35.6)'],
  ['RisingWave', 'PostgreSQL 13.14.0-RisingWave-2.1.0 (a8a3a0d)'],
  ['QuestDB', 'PostgreSQL 12.3, compiled by Visual C++ build 1914, 64-bit, QuestDB'],
  [
    'CrateDB',
    'CrateDB 5.4.0 (built 9d9bd5d/2023-07-11T08:19:23Z, Linux 5.15.0-71-generic amd64, OpenJDK 64-Bit Server VM 20.0.1)',
  ],
  ['CedarDB', 'PostgreSQL 16.3 compatible CedarDB v2025-05-16'],
  ['openGauss', '(openGauss 5.0.0 build a07d57c3) compiled at 2023-03-29 03:07:56 commit 0 last mr'],
  ['Postgres-XL', 'PostgreSQL 10.6 (Postgres-XL 10r1.1) on x86_64-pc-linux-gnu, compiled by gcc (GCC) 4.8.5, 64-bit'],
  ['“Noisepage 1.0”', 'Noisepage 1.0'],
])('%s is refused by its version, %s', (name, version) => {
  expect(faultOfEngine(version)).toContain(`the database is ${name}, not PostgreSQL`)
})
