// Loaded in every vitest worker. If vitest was killed, its workers would otherwise finish
// their test, along with all that it started.
const key = Symbol.for('gatehouse.ends-with-parent')
const shared = globalThis as { [key]?: true }

if (!shared[key]) {
  shared[key] = true
  process.once('disconnect', () => process.exit(1))
}
