import { expect, test } from 'vitest'
import * as express from './express.ts'
import * as fastify from './fastify.ts'
import * as hono from './hono.ts'
import type { Auth } from './index.ts'
import { definePermissions } from './index.ts'
import * as koa from './koa.ts'
import { buildAuth as buildUntyped } from './test-tokens.ts'

const permissions = definePermissions('billing', { 'invoices:read': 'Read invoices', 'invoices:void': 'Void invoices' })
const auth = buildUntyped({ permissions }) as unknown as Auth<'invoices:read' | 'invoices:void'>

test.each(Object.entries({ koa, express, fastify, hono }))(
  'a guard for %s that is made wrongly stops the program, and does not compile',
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
    // @ts-expect-error misspelt permission
    expect(requireAuth(auth, { permissions: ['invoice:read'] })).toBeTypeOf('function')
  },
)
