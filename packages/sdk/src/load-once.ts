/** Returns a function that loads a part of the package at its first call. A load that fails is tried again at the next call. */
export function loadOnce<Part>(load: () => Promise<Part>): () => Promise<Part> {
  let loaded: Promise<Part> | undefined
  return () => {
    loaded ??= load().catch((error: unknown) => {
      loaded = undefined
      throw error
    })
    return loaded
  }
}
