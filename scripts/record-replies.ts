// Shows whether a change changed what the service does. `npm run record -- FILE` runs test/contract on both databases and writes to
// FILE, for each test, every reply with its status, headers and body, and the audit events and revocations in the database. Ids,
// times and secrets are masked, and the lines of a test are sorted. Further words choose test files by a part of their path. It
// records the servers in the process of the tests; of those that run as a program, only what they write to the database.
//
// `npm run record -- --compare NEW OLD OLD` prints with + what only NEW has and with - what only NEW lacks. Record the old commit
// twice: what differs between its recordings depends on who wins a race, and is not compared.
//
// `--keep FOLDER` keeps the records without masks, and `npm run record -- FILE --from FOLDER` writes FILE from them again, so that
// you need not run the tests to change a mask.
import { hash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { startVitest } from 'vitest/node'
import { compileCache } from '../test/support/compile-cache.ts'
import { laneVariable, recordVariable } from '../test/support/lane.ts'
import type { Recorded, RecordedReply } from '../test/support/record-replies.ts'

/** How often each test had each line. */
type Recording = Map<string, Map<string, number>>

/** Headers whose value follows from the body or the time. */
const presentOnly: ReadonlySet<string> = new Set(['content-length', 'etag', 'last-modified', 'x-request-id', 'retry-after'])
const longestBody = 20_000

/** What differs from run to run, and what stands for it. */
const masks: readonly [RegExp, string | ((found: string) => string)][] = [
  [/[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/gi, '<uuid>'],
  [/\beyJ[\w-]+\.[\w-]+\.[\w-]+/g, '<jwt>'],
  [/\bgdt_[\w-]+\.[\w-]+\.[\w-]+/g, '<device token>'],
  [/\bg[a-z]{2}_[\w-]{43,}/g, '<token>'],
  [/\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?/g, '<time>'],
  [/\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT/g, '<date>'],
  [/\b\d{4}-\d\d-\d\d\b/g, '<day>'],
  [/(127\.0\.0\.1|localhost|\[::1\])(:|%3A)\d+/g, '$1$2<port>'],
  [/(?<=[">])[0-9a-hjkmnp-tv-z]{5}-[0-9a-hjkmnp-tv-z]{5}(?=["<])/g, '<recovery code>'],
  [/\b[A-Z2-7]{26,}\b/g, '<base32>'],
  [/(?<![0-9a-f])[0-9a-f]{16,}(?![0-9a-f])/gi, '<hex>'],
  [/(?<=[-_])[0-9a-f]{8}(?!\w)/g, '<hex>'],
  [/(?<![\d.])1\d{9}(?:\d{3})?(?![\d.])/g, '<epoch>'],
  [/[\w-]{20,}/g, (found) => (isRandom(found) ? '<random>' : found)],
]

/** Whether it looks like base64 of random bytes, and not like a name in camel case, a name with hyphens or the hash of a style. */
function isRandom(text: string): boolean {
  return !text.startsWith('sha256-') && /[A-Z]/.test(text) && /[a-z]/.test(text) && !/^(?:[A-Z]*[a-z]+[-_]?)+$/.test(text)
}

function mask(text: string): string {
  return masks.reduce((masked, [form, by]) => masked.replace(form, by as string), text)
}

function describe({ call, status, headers, body }: RecordedReply): string {
  const described = Object.entries(headers).map(([name, value]) => [name, presentOnly.has(name) ? '*' : value])
  const masked = mask(body).replaceAll('\n', '\\n')
  const isShort = masked.length <= longestBody
  const shown = isShort ? masked : `${masked.slice(0, 1_000)}… ${masked.length} characters, ${hash('sha256', masked)}`
  return `${mask(call)} ${status} ${mask(JSON.stringify(Object.fromEntries(described.sort())))} ${shown}`
}

async function record(words: readonly string[], folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true })
  Object.assign(process.env, compileCache, { [laneVariable]: 'chosen', [recordVariable]: resolve(folder) })
  enableCompileCache(compileCache.NODE_COMPILE_CACHE)
  const root = join(import.meta.dirname, '..')
  const files = words.length > 0 ? [...words] : ['test/contract']
  const vitest = await startVitest('test', files, { watch: false, root, project: ['sqlite', 'postgres*'] })
  await vitest.close()
}

function write(file: string, folder: string): void {
  const recording: Recording = new Map()
  // `readline` would also end a line at U+2028, which a body may contain.
  for (const name of readdirSync(folder))
    for (const text of readFileSync(join(folder, name), 'utf8').split('\n')) {
      if (text === '') continue
      const recorded: Recorded = JSON.parse(text)
      const lines = recording.get(recorded.test) ?? new Map<string, number>()
      recording.set(recorded.test, lines)
      const line = 'row' in recorded ? mask(recorded.row) : describe(recorded)
      lines.set(line, (lines.get(line) ?? 0) + 1)
    }
  const sections = [...recording].sort(byFirst).map(([test, lines]) => {
    // A test that waits for something repeats its call, so replies are not counted.
    const counted = [...lines].map(([line, count]) => (/^(?:audit|revocation) /.test(line) ? `${count} ${line}` : line))
    return `## ${test}\n${counted.sort().join('\n')}\n`
  })
  writeFileSync(file, sections.join('\n'))
}

function byFirst([one]: [string, unknown], [other]: [string, unknown]): number {
  return one < other ? -1 : 1
}

/** The lines of a recording by their test. */
function read(file: string): Map<string, Set<string>> {
  const sections = readFileSync(file, 'utf8').split(/^## /m).slice(1)
  return new Map(
    sections.map((section) => {
      const [test = '', ...lines] = section.trimEnd().split('\n')
      return [test, new Set(lines)]
    }),
  )
}

/** Prints what differs between the new recording and all old ones, and returns the number of lines. */
function compare(newFile: string, oldFiles: readonly string[]): number {
  const latest = read(newFile)
  const olds = oldFiles.map(read)
  let differing = 0
  for (const test of [...new Set([latest, ...olds].flatMap((each) => [...each.keys()]))].sort()) {
    const now = latest.get(test) ?? new Set<string>()
    const before = olds.map((old) => old.get(test) ?? new Set<string>())
    const gone = [...(before[0] ?? [])].filter((line) => before.every((old) => old.has(line)) && !now.has(line))
    const come = [...now].filter((line) => !before.some((old) => old.has(line)))
    if (gone.length + come.length === 0) continue
    differing += gone.length + come.length
    console.log([`## ${test}`, ...gone.map((line) => `- ${line}`), ...come.map((line) => `+ ${line}`), ''].join('\n'))
  }
  return differing
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { compare: { type: 'boolean' }, from: { type: 'string' }, keep: { type: 'string' } },
})
const [file, ...words] = positionals
if (file === undefined || (values.compare && words.length === 0)) {
  console.error(
    'Usage: npm run record -- FILE [words] [--keep FOLDER | --from FOLDER]\n       npm run record -- --compare NEW OLD [OLD]',
  )
  process.exitCode = 2
} else if (values.compare) {
  const differing = compare(file, words)
  console.error(`${differing} lines differ`)
  if (differing > 0) process.exitCode = 1
} else if (values.from !== undefined) {
  write(file, values.from)
} else {
  const folder = values.keep ?? mkdtempSync(join(tmpdir(), 'gatehouse-record-'))
  await record(words, folder)
  write(file, folder)
  if (values.keep === undefined) rmSync(folder, { recursive: true, force: true })
}
