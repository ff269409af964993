import { expect, test } from 'vitest'
import * as express from './express.ts'
import * as fastify from './fastify.ts'
import * as hono from './hono.ts'
import type { Auth } from './index.ts'
import { assertFreshProof, definePermissions } from './index.ts'
import * as koa from './koa.ts'
import { buildAuth as buildUntyped, NOW, signToken } from './test-tokens.ts'

const permissions = definePermissions('billing', { 'invoices:read': 'Read invoices', 'invoices:void': 'Void invoices' })
const auth = buildUntyped({ permissions }) as unknown as Auth<'invoices:read' | 'invoices:void'>

test.each(Object.entries({ koa, express, fastify, hono }))(
  'a guard for %s with invalid options throws, and does not compile',
  (_, { requireAuth, optionalAuth }) => {
    const invalid = expect.objectContaining({ code: 'CONFIG_INVALID' })
    // @ts-expect-error misspelt requirement
    expect(() => requireAuth(auth, { permission: ['invoices:read'] })).toThrow(invalid)
    expect(() => requireAuth(auth, { permissions: undefined })).toThrow(invalid)
    // @ts-expect-error one name instead of a list
    expect(() => requireAuth(auth, { permissions: 'invoices:read' })).toThrow(invalid)
    // @ts-expect-error not a choice
    expect(() => requireAuth(auth, { org: 'optional' })).toThrow(invalid)
    // @ts-expect-error no verifier
    expect(() => requireAuth(undefined)).toThrow(invalid)
    // @ts-expect-error no verifier
    expect(() => optionalAuth({})).toThrow(invalid)
    // @ts-expect-error a requirement, which would be ignored
    expect(() => optionalAuth(auth, { permissions: ['invoices:read'] })).toThrow(invalid)
    // @ts-expect-error not a choice
    expect(() => optionalAuth(auth, { kind: 'machine' })).toThrow(invalid)
    // @ts-expect-error a number of seconds
    expect(() => requireAuth(auth, { maxAgeSec: '300' })).toThrow(invalid)
    for (const maxAgeSec of [0, -1, 0.5, Number.NaN]) expect(() => requireAuth(auth, { maxAgeSec })).toThrow(invalid)
    // @ts-expect-error not a choice
    expect(() => requireAuth(auth, { amr: 'otp' })).toThrow(invalid)
    // @ts-expect-error a requirement, which would be ignored
    expect(() => optionalAuth(auth, { maxAgeSec: 300 })).toThrow(invalid)
    // @ts-expect-error misspelt permission
    expect(requireAuth(auth, { permissions: ['invoice:read'] })).toBeTypeOf('function')
  },
)

test('assertFreshProof throws for invalid options, and its hint says which proof was found', async () => {
  const principal = await auth.verify(signToken({ auth_time: NOW - 400, amr: ['pwd'] }))
  const invalid = expect.objectContaining({ code: 'CONFIG_INVALID' })
  expect(() => assertFreshProof(auth, principal, {})).toThrow(invalid)
  // @ts-expect-error misspelt
  expect(() => assertFreshProof(auth, principal, { maxAge: 300 })).toThrow(invalid)
  const hintOf = (token: string) =>
    auth
      .verify(token)
      .then((found) => assertFreshProof(auth, found, { maxAgeSec: 300, amr: 'mfa' }))
      .catch(({ hint }) => hint)
  const expected = 'expected a sign-in, max_age="300", acr_values="mfa"; got'
  expect(await hintOf(signToken({ auth_time: NOW - 400, amr: ['pwd'] }))).toBe(`${expected} one 400 s ago, amr "pwd"`)
  expect(await hintOf(signToken())).toBe(`${expected} no auth_time, amr an empty string`)
})
