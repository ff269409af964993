import { describe, expect, test } from 'vitest'
import { parsePermissionFile } from './permission-file.ts'

const read = { code: 'orders:read', name: 'Read orders', resource: 'orders', action: 'read' }

describe('a permission file', () => {
  test.each([
    ['JSON', '{"service": "orders", "permissions": [{"code": "orders:read", "name": "Read orders"}]}'],
    [
      'JSON with tabs',
      '{\n\t"service": "orders",\n\t"permissions": [\n\t\t{ "code": "orders:read", "name": "Read orders" }\n\t]\n}',
    ],
    ['YAML', 'service: orders\npermissions:\n  - code: orders:read\n    name: Read orders\n'],
    ['YAML in braces', '{service: orders, permissions: [{code: "orders:read", name: Read orders}]}'],
  ])('a permission file may be %s', async (_, text) => {
    expect(await parsePermissionFile(text, 'f')).toEqual({ service: 'orders', permissions: [read] })
  })

  test('a permission file may be the bare list, and may spell out resource and action', async () => {
    const entry = '- code: orders:read\n  name: Read orders\n  resource: orders\n  action: read\n'
    expect(await parsePermissionFile(entry, 'f')).toEqual({ service: undefined, permissions: [read] })
    expect(await parsePermissionFile('[]', 'f')).toEqual({ service: undefined, permissions: [] })
  })

  test('a permission file of more than 5 MiB is refused', async () => {
    await expect(parsePermissionFile(`- ${'x'.repeat(6e6)}`, 'f')).rejects.toMatchObject({
      message: expect.stringContaining('more than 5 MiB'),
    })
  })

  test.each([
    ['', 'neither a list'],
    ['text', 'neither a list'],
    ['{', 'neither JSON nor YAML'],
    ['a: 1\na: 2', 'neither JSON nor YAML'],
    ['- {code: "orders:read", name: !vault abc}', 'Unresolved tag: !vault'],
    ['&a [*a]', 'permissions[0] must be an object'],
    [
      `a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [${'*a,'.repeat(9)}*a]\nc: &c [${'*b,'.repeat(9)}*b]\nd: [${'*c,'.repeat(9)}*c]`,
      'resource exhaustion',
    ],
    ['service: 1\npermissions: []', 'service must be text'],
    ['service: orders', 'permissions must be a list'],
    ['permissions: []\nservcie: orders', 'unknown field servcie'],
    ['- orders:read', 'permissions[0] must be an object'],
    ['- {code: "orders:read"}', 'name must be text'],
    ['- {code: "orders:read", name: N, descr: x}', 'unknown field descr'],
  ])('%j is refused as a permission file', async (text, message) => {
    await expect(parsePermissionFile(text, 'f')).rejects.toMatchObject({
      ending: 'invalid',
      message: expect.stringContaining(message),
    })
  })
})
