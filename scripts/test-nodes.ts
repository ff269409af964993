// `npm run test:nodes` runs the SDK's own tests against its build, on every Node that it supports; `npm run test:nodes -- 20 26`
// only on those. `run.mjs` fetches the Nodes, and a Vitest that is old enough for all of them.
import { execFileSync, spawnSync } from 'node:child_process'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const config = fileURLToPath(new URL('test-nodes.vitest.mjs', import.meta.url))
const vitest = process.env.SDK_VITEST
if (vitest === undefined) throw new Error('run this as npm run test:nodes')

const wanted = process.argv.slice(2)
const nodes = (process.env.SDK_NODES ?? '')
  .split(delimiter)
  .map((program) => ({ program, version: execFileSync(program, ['--version'], { encoding: 'utf8' }).trim() }))
  .filter(({ version }) => wanted.length === 0 || wanted.some((major) => version.startsWith(`v${major}.`)))
if (nodes.length === 0) throw new Error(`no Node version of ${wanted.join(', ')} was found`)

const failed: string[] = []
for (const { program, version } of nodes) {
  console.log(`\n# Node ${version}`)
  const { status } = spawnSync(program, [join(vitest, 'vitest.mjs'), 'run', '--config', config], { stdio: 'inherit' })
  if (status !== 0) failed.push(version)
}
console.log(
  failed.length === 0 ? `\npassed on ${nodes.map(({ version }) => version).join(', ')}` : `\nfailed on ${failed.join(', ')}`,
)
process.exitCode = failed.length === 0 ? 0 : 1
