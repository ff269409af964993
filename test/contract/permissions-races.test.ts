// Services that boot at once and register their permissions: whatever the order, the lists end whole.
import { expect, test } from 'vitest'
import { expectError } from '../support/expect-reply.ts'
import { buildRole, declared } from '../support/factories.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { auditEvents, countRows } from '../support/rows.ts'
import { type Json, unique } from '../support/service.ts'

const service = serviceFixture()

const register = (name: string, permissions: Json[]) =>
  service.admin('POST', '/admin/permissions/register', { body: { service: name, permissions } })
const codesIn = async (path: string): Promise<string[]> =>
  (await service.admin('GET', path)).body.items.map(({ code }: Json) => code)
const codesOf = async (name: string) => (await codesIn(`/admin/permissions?service=${name}&limit=200`)).sort()

test('sixty concurrent registrations of three lists end in exactly one of them', async () => {
  const name = unique('boot')
  // With only two lists, even a change planned from a stale state would end in one of the two.
  const lists = [
    declared(`${name}:both`, `${name}:a1`, `${name}:a2`),
    declared(`${name}:b1`, [`${name}:both`, 'Another name']),
    declared(`${name}:c1`),
  ]
  for (let round = 0; round < 3; round += 1) {
    const replies = await Promise.all(Array.from({ length: 60 }, (_, index) => register(name, lists[index % 3]!)))
    for (const [index, reply] of replies.entries()) {
      expect(reply.status).toBe(200)
      // Each reply holds the whole list of its own request.
      expect(reply.body.permissions).toEqual([...lists[index % 3]!].sort((x, y) => (x.code < y.code ? -1 : 1)))
    }
    const codes = await codesOf(name)
    expect(lists.map((list) => list.map((each) => each.code).sort())).toContainEqual(codes)
    expect(await countRows(service, 'permissions', { service: name })).toBe(5)
  }
})

test('concurrent first registrations create a service once', async () => {
  const name = unique('first')
  const replies = await Promise.all(Array.from({ length: 30 }, () => register(name, declared(`${name}:a`, `${name}:b`))))
  expect(replies.map((reply) => reply.status)).toEqual(Array(30).fill(200))
  expect(replies.filter((reply) => reply.body.created === 2)).toHaveLength(1)
  const events = await auditEvents(service, { event: 'permissions.registered' })
  expect(events.filter((event) => event.details.service === name)).toHaveLength(1)
})

test('one of several services that claim a code owns it, and the others get 409 with nothing written', async () => {
  for (let round = 0; round < 5; round += 1) {
    const mark = unique('claim')
    const claimants = Array.from({ length: 10 }, (_, index) => `${mark}-${index}`)
    const replies = await Promise.all(claimants.map((name) => register(name, declared(`${name}:own`, `${mark}:x`, `${mark}:y`))))
    const owners = claimants.filter((_, index) => replies[index]!.status === 200)
    expect(owners).toHaveLength(1)
    for (const reply of replies) if (reply.status !== 200) expectError(reply, 'permission_owned_by_other_service')
    for (const name of claimants) {
      expect(await codesOf(name)).toEqual(owners.includes(name) ? [`${name}:own`, `${mark}:x`, `${mark}:y`].sort() : [])
    }
  }
})

test('services that swap their codes are all answered, and no code has two owners', async () => {
  const [left, right] = [unique('left'), unique('right')]
  const [a, b] = [`${left}:a`, `${right}:b`]
  for (let round = 0; round < 10; round += 1) {
    const order = round % 2 === 0 ? [a, b] : [b, a]
    const replies = await Promise.all([register(left, declared(order[0]!)), register(right, declared(order[1]!))])
    for (const reply of replies) expect([200, 409]).toContain(reply.status)
    const live = await service.deps.db('permissions').whereIn('code', [a, b]).whereNull('pruned_at').pluck('code')
    expect(new Set(live).size).toBe(live.length)
  }
})

test('roles that gain permissions while lists alternate keep what they gained', async () => {
  const name = unique('busy')
  const codes = Array.from({ length: 10 }, (_, index) => `${name}:${index}`)
  await register(name, declared(...codes))
  const role = await buildRole(service, 'global')
  const add = (code: string) => service.admin('POST', `/admin/roles/${role}/permissions`, { body: { permissions: [code] } })
  const added = await Promise.all(
    codes.map(async (code, index) => {
      if (index % 3 === 0) await register(name, declared(...codes.slice(0, 5)))
      else if (index % 3 === 1) await register(name, declared(...codes))
      return { code, status: (await add(code)).status }
    }),
  )
  await register(name, declared(...codes))
  expect(await codesIn(`/admin/roles/${role}/permissions`)).toEqual(
    added.filter(({ status }) => status === 200).map(({ code }) => code),
  )
  for (const { status } of added) expect([200, 400]).toContain(status)
})
