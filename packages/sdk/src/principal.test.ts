import { describe, expect, test } from 'vitest'
import { createAuth, definePermissions, type PermissionName } from './index.ts'
import { buildAuth, CLAIMS, NOW, SECRET, signToken } from './test-tokens.ts'

const auth = buildAuth()
const principalOf = (claims: object) => auth.verifySync(signToken(claims))

test('a principal names its user, pool and organization', () => {
  expect(principalOf({})).toMatchObject({ userId: CLAIMS.uid, pool: 'default', org: null })
  const inOrganization = principalOf({ namespace: 'eu', org_id: 'o-1', org_slug: 'acme' })
  expect(inOrganization).toMatchObject({ pool: 'eu', org: { id: 'o-1', slug: 'acme' } })
  expect(JSON.parse(JSON.stringify(inOrganization))).toEqual({ userId: CLAIMS.uid, pool: 'eu', org: { id: 'o-1', slug: 'acme' } })
})

test('a machine token belongs to a service account and is recognized by its kind', () => {
  const machine = { kind: 'service', sid: undefined, email: undefined, first_name: undefined, last_name: undefined }
  expect(principalOf({ ...machine, roles: ['service'] })).toMatchObject({ kind: 'service', userId: CLAIMS.uid, org: null })
  for (const kind of [null, 1, ['service'], { service: true }])
    expect(() => principalOf({ kind }), JSON.stringify(kind)).toThrow(expect.objectContaining({ code: 'TOKEN_CLAIMS' }))
})

test('claims and their lists are frozen', () => {
  for (const claims of [{}, { permissions: ['a:b'], roles: undefined }]) {
    const principal = principalOf(claims)
    expect(Object.isFrozen(principal.claims)).toBe(true)
    expect(Object.isFrozen(principal.claims.roles)).toBe(true)
    expect(Object.isFrozen(principal.claims.permissions)).toBe(true)
  }
})

describe('the permissions of a principal', () => {
  const principal = principalOf({ permissions: ['invoices:read', 'invoices:void'], roles: ['clerk'] })

  test('has requires all names, and hasAny requires one', () => {
    expect(principal.has('invoices:read', 'invoices:void')).toBe(true)
    expect(principal.has('invoices:read', 'invoices:write')).toBe(false)
    expect(principal.hasAny('invoices:write', 'invoices:void')).toBe(true)
    expect(principal.hasAny('invoices:write')).toBe(false)
  })

  test('has without names is true, and hasAny without names is false', () => {
    expect([principal.has(), principal.hasAny()]).toEqual([true, false])
  })

  test('a part of a name or a member of every object is not a permission', () => {
    for (const name of ['invoices', 'invoices:rea', '', 'constructor', '__proto__', 'length'])
      expect(principal.has(name)).toBe(false)
  })

  test('assert throws a 403 that names the missing permission only in its hint', () => {
    expect(() => principal.assert('invoices:read')).not.toThrow()
    expect(() => principal.assert('invoices:read', 'invoices:write')).toThrow(
      expect.objectContaining({
        code: 'PERMISSION_DENIED',
        status: 403,
        hint: 'missing: invoices:write; the token has 2 permissions',
        message: expect.not.stringContaining('invoices'),
        headers: { 'WWW-Authenticate': 'Bearer realm="gatehouse", error="insufficient_scope"' },
      }),
    )
  })

  test('hasRole compares whole codes', () => {
    expect([principal.hasRole('clerk'), principal.hasRole('cler')]).toEqual([true, false])
  })
})

test('users keep their own lists, also when lists of the same length take turns', () => {
  for (let round = 0; round < 3; round += 1) {
    for (const permission of ['a:read', 'b:read', 'c:read']) {
      const principal = principalOf({ permissions: [permission] })
      expect(principal.claims.permissions).toEqual([permission])
      expect(['a:read', 'b:read', 'c:read'].filter((name) => principal.has(name))).toEqual([permission])
    }
  }
})

test('a misspelt permission does not compile', () => {
  const permissions = definePermissions('billing', { 'invoices:read': 'Read invoices', 'invoices:void': 'Void invoices' })
  const typed = createAuth({
    revocation: { mode: 'off' },
    permissions,
    secret: SECRET,
    appCode: 'billing',
    now: () => NOW * 1000,
  })
  const principal = typed.verifySync(signToken())
  expect(principal.has('invoices:read')).toBe(true)
  // @ts-expect-error a letter is missing
  expect(principal.has('invoice:read')).toBe(false)
  // @ts-expect-error not in the manifest
  expect(principal.hasAny('invoices:read', 'invoices:write')).toBe(true)
  const name: PermissionName<typeof permissions> = 'invoices:void'
  // @ts-expect-error no such name
  const misspelt: PermissionName<typeof permissions> = 'invoices:viod'
  expect([name, misspelt]).toHaveLength(2)
})
