import { expect, test } from 'vitest'
import { readTokens } from './session.ts'
import { MemoryStore, SharedStore } from './session-store.ts'
import { MapStorage, USER } from './test-platform.ts'

const sessionOf = (n: number) =>
  readTokens({ access_token: `access-${n}`, refresh_token: `refresh-${n}`, expires_in: 900, user: USER }, 0)!

test('a second tab reads what the first writes, and the same object until it changes', () => {
  const storage = new MapStorage()
  const [here, there] = [new SharedStore(storage, 'k'), new SharedStore(storage, 'k')]
  here.write(sessionOf(1))
  expect(there.read()).toEqual(sessionOf(1))
  expect(there.read()).toBe(there.read())
  here.write(sessionOf(2))
  expect(there.read()).toEqual(sessionOf(2))
  there.clear()
  expect(here.read()).toBeUndefined()
  expect(storage.items.size).toBe(0)
})

test('a full storage loses no session and keeps no spent token', () => {
  const storage = new MapStorage()
  const store = new SharedStore(storage, 'k')
  store.write(sessionOf(1))
  storage.isFull = true
  store.write(sessionOf(2))
  expect(store.read()).toEqual(sessionOf(2))
  expect(storage.items.size).toBe(0)
  storage.isFull = false
  store.write(sessionOf(3))
  expect(new SharedStore(storage, 'k').read()).toEqual(sessionOf(3))
  store.clear()
  expect(store.read()).toBeUndefined()
})

test('the device token outlives the session, and a full storage keeps the previous one', () => {
  const storage = new MapStorage()
  const store = new SharedStore(storage, 'k')
  expect(store.device()).toBeUndefined()
  store.device('one')
  store.write(sessionOf(1))
  store.clear()
  storage.isFull = true
  store.device('two')
  expect(new SharedStore(storage, 'k').device()).toBe('one')
})

test('a memory store keeps a session for its own tab', () => {
  const store = new MemoryStore()
  expect(store.read()).toBeUndefined()
  store.write(sessionOf(1))
  expect(store.read()).toEqual(sessionOf(1))
  store.clear()
  expect(store.read()).toBeUndefined()
})
