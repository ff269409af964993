import { fileURLToPath } from 'node:url'

export default {
  // As in an app that create-next-app makes.
  cacheComponents: true,
  partialPrefetching: true,
  // In this repository the SDK is outside this folder. If you install it from a registry, you don't need `root`.
  turbopack: { root: fileURLToPath(new URL('../..', import.meta.url)) },
  experimental: { cpus: 1 },
}
