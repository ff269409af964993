// Writes authctl as one program that needs neither Node nor npm: a copy of this Node with the bundled source in it. On Linux only;
// nobody has tried the other systems, where the copy also has to be signed.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, copyFileSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'tsup'

/** Node looks for its program where this mark is in its file. */
const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'
const cli = fileURLToPath(new URL('../packages/cli', import.meta.url))

const [file, ...more] = process.argv.slice(2)
const { POSTJECT: postject } = process.env
if (file === undefined || more.length > 0) stop(2, 'Usage: npm run authctl:single-file -- FILE')
if (process.platform !== 'linux') stop(1, 'This is tried on Linux only: run it there, or install authctl with npm.')
if (postject === undefined) stop(1, 'Run it as npm run authctl:single-file -- FILE')
const target = resolve(file)
// Beside the target, so that it appears whole.
const folder = mkdtempSync(join(dirname(target), '.authctl-'))
try {
  await bundle(folder)
  const blob = join(folder, 'authctl.blob')
  const config = join(folder, 'sea.json')
  writeFileSync(
    config,
    JSON.stringify({
      main: join(folder, 'authctl.cjs'),
      output: blob,
      disableExperimentalSEAWarning: true,
      // Starts in two thirds of the time.
      useCodeCache: true,
    }),
  )
  // Their output is shown if they fail. Of Node's sections, postject names some that it does not know.
  const quietly = { stdio: 'pipe' } as const
  execFileSync(process.execPath, ['--experimental-sea-config', config], quietly)
  const program = join(folder, 'authctl')
  copyFileSync(process.execPath, program)
  chmodSync(program, 0o755)
  execFileSync(
    process.execPath,
    [join(postject, 'node_modules', 'postject', 'dist', 'cli.js'), program, 'NODE_SEA_BLOB', blob, '--sentinel-fuse', fuse],
    quietly,
  )
  renameSync(program, target)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
const bytes = readFileSync(target)
console.log(`${createHash('sha256').update(bytes).digest('hex')}  ${file}`)
console.error(`${Math.round(bytes.length / 1e6)} MB, for Linux on ${process.arch}, with Node ${process.version}`)

/** One CommonJS file, because Node takes no other, with everything that authctl imports. */
async function bundle(outDir: string): Promise<void> {
  await build({
    config: false,
    silent: true,
    entry: { authctl: join(cli, 'src', 'authctl.ts') },
    outDir,
    format: 'cjs',
    outExtension: () => ({ js: '.cjs' }),
    target: 'node24',
    platform: 'node',
    splitting: false,
    noExternal: [/./],
    esbuildOptions(options) {
      // A program in a single file can load nothing but Node's own modules, and those by `require`.
      options.supported = { 'dynamic-import': false }
      options.logOverride = { 'empty-import-meta': 'error' }
    },
    esbuildPlugins: [
      {
        name: 'one-file',
        setup: (bundler) =>
          bundler.onLoad({ filter: /cli\/src\/output\/table\.ts$/ }, ({ path }) => ({
            loader: 'ts',
            contents: readFileSync(path, 'utf8').replaceAll("createRequire(import.meta.url)('", "require('"),
          })),
      },
    ],
  })
}

function stop(exit: number, why: string): never {
  console.error(why)
  process.exit(exit)
}
