import { expect, test } from 'vitest'
import { firstInPools, poolSet } from './pool-set.ts'

test('an app sees its registration pool, then its read pools, each once, and without an app it is `default`', () => {
  expect(poolSet({ registration_namespace: 'b', read_namespaces: ['a', 'b', 'c', 'a'] })).toEqual(['b', 'a', 'c'])
  expect(poolSet({ registration_namespace: 'staff', read_namespaces: [] })).toEqual(['staff'])
  expect(poolSet(null)).toEqual(['default'])
})

const user = (id: string, namespace: string, ...tags: string[]) => ({
  ...{ id, namespace, tags },
  ...{ made_by: 'self' as const, first_verified_at: 1 as number | null, link_verified_at: null, mailbox_proven_at: null },
})
const unproven = (id: string, namespace: string) => ({ ...user(id, namespace), first_verified_at: null })

test.each<[string, ReturnType<typeof user>[], string[], string | undefined]>([
  ['no user', [], ['a'], undefined],
  ['no user in the set', [user('1', 'x', 'y')], ['a', 'b'], undefined],
  ['an empty set', [user('1', 'a')], [], undefined],
  ['a home pool', [user('1', 'a')], ['a'], '1'],
  ['a tag', [user('1', 'x', 'a')], ['a'], '1'],
  ['home pools in the order of the set', [user('1', 'b'), user('2', 'a')], ['a', 'b'], '2'],
  ['a home pool before a tag of an earlier pool', [user('1', 'x', 'a'), user('2', 'b')], ['a', 'b'], '2'],
  ['tags in the order of the set', [user('1', 'x', 'b'), user('2', 'y', 'a')], ['a', 'b'], '2'],
  ['an unproven account after all others', [unproven('1', 'a'), user('2', 'x', 'b')], ['a', 'b'], '2'],
  ['several unproven accounts', [unproven('1', 'b'), unproven('2', 'a')], ['a', 'b'], '2'],
  ['the name of a pool as a whole', [user('1', 'ab')], ['a', 'b'], undefined],
])('the choice among users who share an e-mail is right for %s', (_, users, pools, id) => {
  expect(firstInPools(users, pools)?.id).toBe(id)
})
