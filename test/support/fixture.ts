import { beforeAll } from 'vitest'

/**
 * What the tests of a file share: declared while they are collected, built before the first of them. It stands for what `build` makes and
 * can be used in tests and hooks, and in fixtures that are declared after it.
 */
export function fixture<T extends object>(build: () => Promise<T>): T {
  let built: T
  beforeAll(async () => {
    built = await build()
  })
  return new Proxy({} as T, {
    get: (_, name) => Reflect.get(built, name),
    set: (_, name, value) => Reflect.set(built, name, value),
    has: (_, name) => Reflect.has(built, name),
    ownKeys: () => Reflect.ownKeys(built),
    getOwnPropertyDescriptor: (_, name) => Reflect.getOwnPropertyDescriptor(built, name),
  })
}
