const ends: (() => Promise<void>)[] = []

/**
 * Runs `fn` after the last test of the file, in reverse order of registration. Use it for what a `beforeAll` opens: vitest never
 * runs an `afterAll` that is registered inside a `beforeAll`.
 */
export function onFileEnd(fn: () => Promise<void>): void {
  ends.push(fn)
}

export async function endFile(): Promise<void> {
  for (const end of ends.splice(0).reverse()) await end()
}
