import { expect, test } from 'vitest'
import { definePermissions } from './define-permissions.ts'

test('definePermissions returns a frozen manifest of the service and its permissions', () => {
  const declared = { 'invoices:read': 'Read invoices' }
  const manifest = definePermissions('billing', declared)
  expect(manifest).toEqual({ service: 'billing', permissions: declared })
  expect(Object.isFrozen(manifest) && Object.isFrozen(manifest.permissions)).toBe(true)
})

test('a permission code may hold letters, digits and a few marks, and its action may hold colons', () => {
  const declared = { 'Invoices.v2/*:read:all': 'Read all', '*:*': 'Everything' }
  expect(definePermissions('billing', declared).permissions).toEqual(declared)
})

test.each(['ïnvoices:read', 'invoices:', ':read', 'in voices:read', ' invoices:read'] as const)(
  'definePermissions refuses the code %j and names it',
  (code) => {
    expect(() => definePermissions('billing', { [code]: 'x' })).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(code) }),
    )
  },
)

test('a code without an action does not compile, and a service needs a name', () => {
  // @ts-expect-error no colon
  expect(() => definePermissions('billing', { invoices: 'x' })).toThrow()
  expect(() => definePermissions('', {})).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
})
