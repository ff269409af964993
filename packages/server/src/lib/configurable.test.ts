import { expect, test } from 'vitest'
import { beyondApp, beyondRole } from './configurable.ts'

const app = {
  name: 'A',
  sign_up: 'open',
  require_verified_email: true,
  webhooks: [],
  frontend_url: null,
  brand: { from_name: 'A' },
}

test.each([
  [{ name: 'B', description: 'of it' }, []],
  [{ brand: { from_name: 'B', accent_color: '#2f6fde' } }, []],
  [{ brand: {} }, []],
  [{ sign_up: 'closed' }, []],
  [{ frontend_url: undefined }, []],
  [{ frontend_url: 'https://evil.example.com' }, ['frontend_url']],
  [{ webhooks: [{ url: 'https://evil.example.com' }] }, ['webhooks']],
  [{ brand: { from_name: 'A', support_url: 'https://evil.example.com' } }, ['brand.support_url']],
  [{ require_verified_email: false }, ['require_verified_email']],
  [{ sign_up: 'nonsense' }, ['sign_up']],
  [{ of_tomorrow: true, name: 'B' }, ['of_tomorrow']],
])('admin:configure may set %j, except %j', (changes, refused) => {
  expect(beyondApp(app, { ...app, ...changes })).toEqual(refused)
})

test('admin:configure may close sign-up, but not open it again', () => {
  expect(beyondApp({ ...app, sign_up: 'closed' }, app)).toEqual(['sign_up'])
})

test.each([
  [{}, undefined],
  [{ scope: 'global' }, 'global roles'],
  [{ built_in: true }, 'built-in roles'],
  [{ assignable_by: 'org_admin' }, 'roles that an org_admin gives (assignable_by)'],
])('for a role with %j, admin:configure is refused with %j', (members, refused) => {
  const role = { scope: 'org', built_in: false, assignable_by: 'system_admin', ...members }
  expect(beyondRole(role, { isNamedByApp: false })).toBe(refused)
  expect(beyondRole(role, { isNamedByApp: true })).toBeDefined()
})
