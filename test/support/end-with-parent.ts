// Loaded in every vitest worker: one whose vitest was killed would run its test to the end, and what that test started with it.
const key = Symbol.for('gatehouse.ends-with-parent')
const shared = globalThis as { [key]?: true }

if (!shared[key]) {
  shared[key] = true
  process.once('disconnect', () => process.exit(1))
}
