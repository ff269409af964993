// `npm run bench` runs the programs of test/bench one after another, or those named: `npm run bench -- verify sso`. It ends with
// one table and exits with 1 if a bench failed or a bound was missed. With `--write` the docs keep the figures; those of other
// benches stay.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, release, tmpdir, totalmem, type } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  collectVariable,
  isMissed,
  type Run,
  type Runs,
  readFigures,
  runHeading,
  tableOf,
} from '../test/bench/support/results.ts'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const folder = join(root, 'test', 'bench')
const kept = join(root, 'docs/reference/performance.json')
const all = readdirSync(folder)
  .filter((file) => file.endsWith('.ts'))
  .map((file) => file.slice(0, -'.ts'.length))
const writes = process.argv.includes('--write')
const named = process.argv.slice(2).filter((word) => word !== '--write')
const unknown = named.find((name) => !all.includes(name))
if (unknown !== undefined) {
  console.error(`unknown bench ${unknown}; available: ${all.join(', ')}`)
  process.exit(2)
}

const circumstances = {
  at: new Date().toISOString().slice(0, 10),
  commit: commit(),
  node: process.version,
  machine: `${cpus()[0]?.model ?? 'unknown processor'}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, ${type()} ${release()}`,
}
const method = 'Ours and the peer run in turns, in one run on one machine; figures are medians, ratios are ours to the peer’s.'
const started = performance.now()
const loadBefore = load()
const collected = mkdtempSync(join(tmpdir(), 'gatehouse-figures-'))
const runs: Runs = {}
const failed: string[] = []
try {
  for (const name of named.length > 0 ? named : all) runBench(name)
} finally {
  rmSync(collected, { recursive: true, force: true })
}
report()
if (writes) keep()
if (failed.length > 0 || missedFigures().length > 0) process.exitCode = 1

function runBench(name: string): void {
  console.log(`\n# ${name}`)
  const file = join(collected, name)
  const before = load()
  const { status } = spawnSync(process.execPath, [join(folder, `${name}.ts`)], {
    stdio: 'inherit',
    env: { ...process.env, [collectVariable]: file },
  })
  const figures = existsSync(file) ? readFigures(file) : []
  if (status !== 0) failed.push(name)
  runs[name] = { ...circumstances, load: [before, load()], figures }
}

function report(): void {
  const minutes = ((performance.now() - started) / 60_000).toFixed(1)
  const run: Run = {
    ...circumstances,
    load: [loadBefore, load()],
    figures: Object.values(runs).flatMap(({ figures }) => figures),
  }
  console.log(`\n\n${method}\n${runHeading(run)}; ${minutes} min\n\n${tableOf(run.figures)}`)
  for (const name of failed) console.log(`\n${name} FAILED: its part of the table is incomplete`)
  const missed = missedFigures()
  const verdict = failed.length > 0 ? '' : '\nEvery bound in the table is met.'
  console.log(missed.length === 0 ? verdict : `\nNot met:\n\n${tableOf(missed)}`)
}

function missedFigures() {
  return Object.values(runs).flatMap(({ figures }) => figures.filter(isMissed))
}

/** A bench that failed keeps its old figures. */
function keep(): void {
  const old = existsSync(kept) ? (JSON.parse(readFileSync(kept, 'utf8')) as Runs) : {}
  const merged = all.map((name): [string, Run | undefined] => [
    name,
    failed.includes(name) ? old[name] : (runs[name] ?? old[name]),
  ])
  // One figure per line, so that a diff shows which ones changed.
  const text = JSON.stringify(Object.fromEntries(merged), null, 2).replace(/\{\s+"what"[^{}]+\}/g, (figure) =>
    JSON.stringify(JSON.parse(figure)),
  )
  writeFileSync(kept, `${text}\n`)
  const { status } = spawnSync(process.execPath, [join(root, 'scripts', 'generate.ts')], { stdio: 'inherit' })
  if (status !== 0) failed.push('generate')
}

function commit(): string {
  const git = (...words: string[]) => spawnSync('git', words, { cwd: root, encoding: 'utf8' }).stdout?.trim() ?? ''
  const head = git('rev-parse', '--short', 'HEAD')
  if (head === '') return 'unknown'
  return git('status', '--porcelain', '--', '.', ':!docs/**/performance.*') === '' ? head : `${head} with changes`
}

function load(): number {
  return Math.round(loadavg()[0]! * 10) / 10
}
