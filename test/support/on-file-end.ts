const ends: (() => Promise<void>)[] = []

/**
 * Runs `fn` after the last test of the file; what was given last goes first. For what a `beforeAll` opens: an `afterAll` that is
 * registered inside of one never runs.
 */
export function onFileEnd(fn: () => Promise<void>): void {
  ends.push(fn)
}

export async function endFile(): Promise<void> {
  for (const end of ends.splice(0).reverse()) await end()
}
