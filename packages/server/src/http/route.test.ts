import { expect, test } from 'vitest'
import { type Route, route } from './route.ts'

const declared = { path: '/admin/things', summary: 'Things', responses: { 204: null }, errors: [] }
const handle: Route['handle'] = async () => ({ status: 204 })

/** Never called: the compiler proves the point. */
export const mustNotCompile: (() => Route)[] = [
  // @ts-expect-error nobody says who may call it
  () => route({ ...declared, method: 'POST', handle }),
  // @ts-expect-error a read that is not declared as one
  () => route({ ...declared, method: 'GET', auth: 'system_admin', handle }),
  // @ts-expect-error a write that readers may call
  () => route({ ...declared, method: 'DELETE', auth: 'admin_reader', handle }),
  // @ts-expect-error a route for the help desk that does not say whom it helps
  () => route({ ...declared, method: 'POST', auth: 'help_desk', handle }),
  // @ts-expect-error a door that does not exist
  () => route({ ...declared, method: 'GET', auth: 'auditor', handle }),
]

test('a read for admin readers and a write for system admins are declared', () => {
  expect(route({ ...declared, method: 'GET', auth: 'admin_reader', handle }).dryRun).toBeUndefined()
  expect(route({ ...declared, method: 'POST', auth: 'system_admin', handle }).dryRun).toBe('rehearsed')
})

test('a path parameter whose values nobody has declared is refused at the start', () => {
  const path = '/admin/things/{thingId}'
  expect(() => route({ ...declared, path, method: 'POST', auth: 'system_admin', handle })).toThrow('thingId')
})
