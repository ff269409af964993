import { describe, expect, test } from 'vitest'
import { faultOfDatabaseUrl, urlsOfHosts } from './database-url.ts'

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
  ])('%s', (url, urls) => {
    expect(urlsOfHosts(url)).toEqual(urls)
    expect(faultOfDatabaseUrl(url)).toBeUndefined()
  })
})

describe('a DATABASE_URL that is wrong is named by what is wrong with it, and no part of it is repeated', () => {
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
  ])('%s', (url, fault) => {
    expect(faultOfDatabaseUrl(url)).toMatch(fault)
    expect(faultOfDatabaseUrl(url)).not.toMatch(/hunt/)
  })

  test.each(['postgres:///app', 'postgres://u@/app?host=/run/postgresql', 'postgres://db', 'sqlite:./x.db'])(
    '%s is right',
    (url) => {
      expect(faultOfDatabaseUrl(url)).toBeUndefined()
    },
  )
})
