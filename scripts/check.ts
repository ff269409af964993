// `npm run check` runs every check that does not need a running service. `npm run check -- types imports` runs only those two.
import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

interface Check {
  what: string
  command: string[]
  /** Shown with a failure whose output does not say what to do. */
  remedy?: string
}

// The slowest first, so that the others fill the second core meanwhile.
const checks: Record<string, Check> = {
  types: { what: 'TypeScript accepts every file', command: ['tsc', '-p', 'tsconfig.json', '--pretty', 'false'] },
  generated: {
    what: 'generated files are up to date',
    command: ['node', 'scripts/generate.ts', '--check'],
  },
  unused: { what: 'no dead code, no unused dependency', command: ['knip', '--no-progress', '--no-config-hints'] },
  imports: {
    what: 'folders import only what they may',
    command: [
      'depcruise',
      '--config',
      '.dependency-cruiser.mjs',
      '--output-type',
      'err-long',
      'packages',
      'examples',
      'test',
      'scripts',
      'vitest.config.ts',
    ],
  },
  rooms: { what: 'no two folders import each other', command: ['node', 'scripts/check-rooms.ts'] },
  authority: { what: 'one file decides on roles, one reads the query', command: ['node', 'scripts/check-authority.ts'] },
  contract: { what: 'every sentence of docs/reference/contract has a test', command: ['node', 'scripts/check-contract.ts'] },
  words: {
    what: 'texts cite only the repository, in plain words and short sentences',
    command: ['node', 'scripts/check-words.ts'],
  },
  data: {
    what: 'only models name tables, no handle leaks out of a transaction',
    command: ['node', 'scripts/check-data.ts'],
  },
  style: {
    what: 'style and likely mistakes',
    command: ['biome', 'check', '--colors=off', '--error-on-warnings', '--max-diagnostics=50', '.'],
    remedy: 'node scripts/run.mjs exec biome check --write .   fixes most of these',
  },
}

interface Outcome {
  passed: boolean
  output: string
  seconds: number
}

async function run([program = '', ...words]: string[]): Promise<Outcome> {
  const started = performance.now()
  const child = spawn(program, words, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], shell: process.platform === 'win32' })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8')
    stream.on('data', (text: string) => {
      output += text
    })
  }
  const passed = await new Promise<boolean>((resolve) => {
    child.once('error', (error) => {
      output += error.message
      resolve(false)
    })
    child.once('close', (code) => resolve(code === 0))
  })
  return { passed, output, seconds: (performance.now() - started) / 1000 }
}

const wanted = process.argv.slice(2)
const unknown = wanted.filter((name) => !(name in checks))
if (unknown.length > 0) {
  console.error(`Unknown check ${unknown.join(', ')}; available: ${Object.keys(checks).join(', ')}`)
  process.exit(2)
}

// Git ignores the generated types of the HTTP API, so a clone where `run.mjs` has not run lacks them.
const derived = await run(['node', 'scripts/api-types.ts'])
if (!derived.passed) console.error(derived.output)

const waiting = Object.entries(checks).filter(([name]) => wanted.length === 0 || wanted.includes(name))
let failures = 0

async function worker(): Promise<void> {
  for (let next = waiting.shift(); next; next = waiting.shift()) {
    const [name, { what, command, remedy }] = next
    const { passed, output, seconds } = await run(command)
    console.log(`${passed ? 'ok    ' : 'FAILED'}  ${name.padEnd(9)}  ${what} (${seconds.toFixed(1)} s)`)
    if (passed) continue
    failures += 1
    const explanation = [output.trim(), remedy].filter(Boolean).join('\n\n')
    console.log(`\n${explanation.replace(/^(?=.)/gm, '    ')}\n`)
  }
}

await Promise.all(Array.from({ length: Math.max(2, availableParallelism()) }, worker))
if (failures > 0) process.exitCode = 1
