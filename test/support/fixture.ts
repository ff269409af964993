import { beforeAll } from 'vitest'

/**
 * Declares an object that the tests of a file share; it is built before the first of them. The result stands for what `build`
 * returns. Use it in tests and hooks, and in fixtures that are declared later.
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
