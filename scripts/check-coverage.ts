// Measures the share of expressions in packages/*/src, without tests, that have a useful type: not `any`, not asserted with `as`
// or `!`. Below the least share, prints the files with the most other expressions and exits with 1.
import { globSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { lintSync } from 'type-coverage-core'
import ts from 'typescript'

const leastPercent = 99
/** Guards against a wrong path, which would find few or no expressions, all of them typed. */
const leastExpressions = 30_000
const mostShown = 30

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const files = globSync('packages/*/src/**/*.ts', { cwd: root, exclude: ['**/*.test.ts', '**/test-*.ts'] })
const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile)
const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, root)
const paths = files.map((file) => join(root, file))
const { correctCount, totalCount, fileCounts } = lintSync(options, paths, {
  strict: true,
  fileCounts: true,
  absolutePath: true,
  files: paths,
})

if (totalCount < leastExpressions) {
  console.error(`Only ${totalCount} expressions were counted, but there are more than ${leastExpressions}: are the paths right?`)
  process.exitCode = 1
}
const percent = (100 * correctCount) / totalCount
if (percent < leastPercent) {
  console.error(`${percent.toFixed(2)} % of ${totalCount} expressions are typed, less than ${leastPercent} %. The others are in`)
  const untyped = Array.from(fileCounts, ([path, counts]) => ({ path, count: counts.totalCount - counts.correctCount }))
  untyped.sort((one, other) => other.count - one.count)
  for (const { path, count } of untyped.slice(0, mostShown))
    console.error(`${String(count).padStart(6)}  ${relative(root, path)}`)
  process.exitCode = 1
}
