import { createHmac } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { gatehouseFixture, type Machine, machine } from './sandbox.ts'

const secret = 'a secret of this test alone, and long enough'

const { service } = gatehouseFixture({ JWT_ACCESS_SECRET: secret })

async function withToken(): Promise<{ here: Machine; token: string }> {
  const here = machine()
  await here.login(service.url)
  writeFileSync(join(here.folder, 'secret'), `${secret}\n`)
  writeFileSync(join(here.folder, 'other'), 'another secret, which is just as long')
  return { here, token: String(here.readContexts().contexts.default!.tokens!.access_token) }
}

/** The token with changed claims and a new signature. */
function withClaims(token: string, changes: Record<string, unknown>): string {
  const [header, payload] = token.split('.')
  const claims = { ...JSON.parse(Buffer.from(payload!, 'base64url').toString()), ...changes }
  const signed = `${header}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
}

test('token inspect decodes a token without the secret, verifies it with one, and never shows it', async () => {
  const { here, token } = await withToken()
  const decoded = await here.authctl('token inspect -', { input: `${token}\n` })
  expect(decoded.exit).toBe(0)
  expect(JSON.parse(decoded.stdout)).toMatchObject({ valid: null, claims: { app_code: 'authctl' }, header: { alg: 'HS256' } })
  expect(decoded.stderr).toContain('not verified')
  const verified = await here.authctl('token inspect --secret-file secret --app authctl', { input: token })
  expect(verified.exit).toBe(0)
  expect(JSON.parse(verified.stdout)).toMatchObject({ valid: true, failed_check: null })
  const table = await here.authctl('token inspect - --secret-file secret -o table', { input: token })
  expect(table.stdout).toMatch(/^CHECK +OK +CODE +DETAIL\nsize +yes/)
  expect(table.stdout).toMatch(/\nAPP CODE +authctl\n/)
  for (const { stdout, stderr } of [decoded, verified, table]) {
    expect(stdout + stderr).not.toContain(token.split('.')[2])
    expect(stdout + stderr).not.toContain(secret)
  }
})

test('token inspect names the first check that fails and exits with 6', async () => {
  const { here, token } = await withToken()
  const now = Math.floor(Date.now() / 1000)
  for (const [input, flags, code] of [
    [token, '--secret-file other', 'TOKEN_SIGNATURE'],
    [withClaims(token, { exp: now - 60 }), '', 'TOKEN_EXPIRED'],
    [withClaims(token, { nbf: now + 60 }), '', 'TOKEN_NOT_YET_VALID'],
    [withClaims(token, { iss: 'x', aud: 'y' }), '', 'TOKEN_ISSUER'],
    [token, '--issuer other', 'TOKEN_ISSUER'],
    [token, '--app shop', 'TOKEN_AUDIENCE'],
    [withClaims(token, { app_code: 'shop' }), '', 'APP_MISMATCH'],
    [withClaims(token, { roles: 'system_admin' }), '', 'TOKEN_CLAIMS'],
    ['not.a.token', '', 'TOKEN_MALFORMED'],
    [`${token}${'x'.repeat(17_000)}`, '', 'TOKEN_TOO_LARGE'],
  ] as const) {
    const file = flags.includes('--secret-file') ? '' : '--secret-file secret'
    const { stdout, stderr, exit } = await here.authctl(`token inspect - ${file} ${flags} --json`, { input })
    expect({ exit, code: JSON.parse(stderr).error.code }).toEqual({ exit: 6, code })
    expect(JSON.parse(stdout)).toMatchObject({ valid: false, failed_check: code })
  }
})

test('token inspect refuses a token on the command line without repeating it, and exits with 2 without one', async () => {
  const { here, token } = await withToken()
  const typed = await here.authctl(['token', 'inspect', token])
  expect(typed.exit).toBe(2)
  expect(typed.stdout + typed.stderr).not.toContain(token)
  expect((await here.authctl('token inspect -', { input: '\n' })).exit).toBe(2)
  expect((await here.authctl('token inspect - --secret-file nowhere', { input: token })).exit).toBe(6)
  expect((await here.terminal('token inspect --no-input').ended()).exit).toBe(2)
})

test('token inspect on a terminal asks for the token and hides it', async () => {
  const { here, token } = await withToken()
  const inspect = here.terminal('token inspect --secret-file secret')
  await inspect.shows('Token:')
  inspect.type(`${token}\r`)
  const { screen, exit } = await inspect.ended()
  expect(exit).toBe(0)
  expect(screen).toMatch(/signature +yes/)
  expect(screen).not.toContain(token)
})
