// `npm run mutants:unit` lets Stryker change `lib/` of the server and the core of the SDK in some thousand ways, one at a time, and
// counts the changes that a unit test notices. `npm run mutants:unit -- packages/server/src/lib/totp.ts` changes only that file, and
// lists the changes that no test notices. Without files it writes `test/mutants/score.md`. Stryker changes the sources in place and
// restores them at the end: commit first, and do not edit meanwhile.
import { writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'

/** The part of a result of Stryker that is read here. */
interface Mutant {
  fileName: string
  status: string
  mutatorName: string
  replacement: string
  location: { start: { line: number } }
}

const root = join(import.meta.dirname, '..')
const modules = join(process.env.STRYKER!, 'node_modules')
const core = 'app-binding,base64url,claims,define-permissions,errors,inspect,keyring,known-revocations,permission-scope,principal'
const chosen = process.argv.slice(2)

const { Stryker } = await import(pathToFileURL(join(modules, '@stryker-mutator/core/dist/src/index.js')).href)
const mutants: Mutant[] = await new Stryker({
  mutate:
    chosen.length > 0
      ? chosen
      : [
          'packages/server/src/lib/*.ts',
          '!packages/server/src/lib/*.test.ts',
          // Names and sentences.
          '!packages/server/src/lib/audit-events.ts',
          `packages/sdk/src/{${core},seen-tokens,verify-token,webhooks}.ts`,
        ],
  // Members of the workspace import one another by links that lead to the sources themselves.
  inPlace: true,
  plugins: [join(modules, '@stryker-mutator/vitest-runner/dist/src/index.js')],
  testRunner: 'vitest',
  vitest: { configFile: 'test/mutants/unit.vitest.config.ts' },
  coverageAnalysis: 'perTest',
  // Those in constants of a module would each need a run of all tests.
  ignoreStatic: true,
  mutator: { excludedMutations: ['StringLiteral'] },
  concurrency: 2,
  reporters: ['progress-append-only'],
  tempDirName: '.runtime/stryker-work',
  allowConsoleColors: false,
}).runMutationTest()

const isCaught = ({ status }: Mutant) => status === 'Killed' || status === 'Timeout'
const counted = mutants.filter((mutant) => isCaught(mutant) || mutant.status === 'Survived' || mutant.status === 'NoCoverage')
const files = [...new Set(counted.map(({ fileName }) => fileName))].sort()
const score = (of: readonly Mutant[]) => `${of.filter(isCaught).length} of ${of.length}`
const rows = files.map(
  (file) => `| \`${relative(root, file)}\` | ${score(counted.filter(({ fileName }) => fileName === file))} |`,
)

if (chosen.length > 0) {
  for (const { fileName, status, location, mutatorName, replacement } of counted.filter((mutant) => !isCaught(mutant)))
    console.log(`${relative(root, fileName)}:${location.start.line} ${status} ${mutatorName}: ${replacement}`)
} else {
  const page = [
    '# What unit tests notice',
    '',
    '<!-- Written by `npm run mutants:unit`. Do not edit. -->',
    '',
    'How many of the changes that Stryker makes to a file fail a unit test. A file without a unit test of its own has no such test',
    'here: the tests through HTTP, and the planted faults of `npm run mutants`, cover it.',
    '',
    '| File | Noticed |',
    '| --- | --- |',
    `| all | ${score(counted)} (${Math.round((100 * counted.filter(isCaught).length) / counted.length)} %) |`,
    ...rows,
  ]
  writeFileSync(join(root, 'test/mutants/score.md'), `${page.join('\n')}\n`)
}
console.log(`${score(counted)} noticed`)
