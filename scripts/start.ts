// `npm start` runs the service on SQLite in this folder. The first run creates the first admin and walks through the main use of
// Gatehouse; `npm start -- --tour` repeats the walk. All data is in .gatehouse/; delete that folder to start over.
import { randomBytes } from 'node:crypto'
import { createWriteStream, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { fileURLToPath } from 'node:url'
import { Children } from './children.ts'
import { NotSignedInError, runTour } from './tour.ts'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const folder = '.gatehouse'
const startedMark = join(folder, 'started')
const logFile = join(folder, 'gatehouse.log')
const gatehouse = join(root, 'packages/server/dist/gatehouse.js')
const authctl = join(root, 'packages/cli/dist/authctl.js')
const adminEmail = 'admin@example.com'

const unknown = process.argv.slice(2).filter((argument) => argument !== '--tour')
if (unknown.length > 0) {
  console.error(`Usage: npm start [-- --tour]; unknown argument ${unknown[0]}`)
  process.exit(2)
}

const children = new Children()
let isStopping = false
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, async () => {
    isStopping = true
    await children.stopAll()
    process.exit(signal === 'SIGINT' ? 130 : 143)
  })
}

try {
  await start()
} catch (error) {
  console.error(`\n${error instanceof Error ? error.message : error}`)
  await children.stopAll()
  process.exit(1)
}

async function start(): Promise<void> {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const isFirstRun = !existsSync(startedMark)
  const url = await startService()
  console.log(`\nGatehouse is running at ${url} (log: ${logFile})`)
  // Only once the service is up: otherwise a failed start would leave an admin who never signed in.
  const adminPassword = isFirstRun ? await createFirstAdmin() : undefined
  const context = await chooseContext(url, adminPassword !== undefined)

  if (!isFirstRun && !process.argv.includes('--tour')) console.log(nextSteps(url, context))
  else if (await walk(url, context.name, adminPassword)) {
    // Only here: an interrupted first run still counts as a first run the next time.
    writeFileSync(startedMark, '')
    console.log(nextSteps(url, await chooseContext(url, false)))
  }
  const code = await children.anyExit()
  // Ctrl-C reaches every program of the terminal at once, also the service.
  if (isStopping) return
  throw new Error(`the service stopped unexpectedly (exit ${code}); its log is in ${logFile}`)
}

/** Runs the walk. Returns false if there is no session of an admin at this service; the service then runs on without the walk. */
async function walk(url: string, context: string, adminPassword: string | undefined): Promise<boolean> {
  try {
    await runTour({ root, folder, url, context, admin: { email: adminEmail, password: adminPassword }, children })
    return true
  } catch (error) {
    if (!(error instanceof NotSignedInError)) throw error
    console.log(`
The tour was skipped: ${error.message}
Sign in from another terminal, then start again with npm start -- --tour:
  npm run -s authctl -- login --context ${context} --base-url ${url} --email ${adminEmail}
If you do not have the password, delete the folder ${folder}: the next start creates a new admin.

Ctrl-C ends it.`)
    return false
  }
}

/** Shows the password once and stores it nowhere. Returns undefined if an interrupted first run has created the admin already. */
async function createFirstAdmin(): Promise<string | undefined> {
  const password = randomBytes(15).toString('base64url')
  const made = await children.run('node', [gatehouse, 'create-admin', '--email', adminEmail, '--password-stdin'], {
    stdin: password,
  })
  if (made.code === 0) {
    console.log(
      `\nThe first admin: ${adminEmail}, password ${password}\n(shown only once; keep it in a password manager, or change it)`,
    )
    return password
  }
  if (made.stderr.includes('exists')) return undefined
  throw new Error(made.stderr)
}

interface Context {
  name: string
  base_url: string
  /** Whether commands without --context use it. */
  current: boolean
}

/**
 * The context in which authctl keeps the session of the admin: `local`, unless that one belongs to the service of another clone.
 * `signsIn`: the walk is about to sign in there, so it asks before it replaces the session of the other service. Without a
 * terminal, or after a no, it uses a context named after the port.
 */
async function chooseContext(url: string, signsIn: boolean): Promise<Pick<Context, 'name' | 'current'>> {
  const { stdout } = await children.run('node', [authctl, 'context', 'list', '--json'])
  const contexts = JSON.parse(stdout || '[]') as Context[]
  const names = ['local', `local-${new URL(url).port}`] as const
  const own = names.map((name) => contexts.find((context) => context.name === name && context.base_url === url)).find(Boolean)
  if (own) return own
  const other = contexts.find(({ name }) => name === 'local')
  const name = !other || (signsIn && (await agreesToReplace(other))) ? 'local' : names[1]
  if (signsIn) console.log(`authctl keeps the session of the admin in the context "${name}"`)
  return { name, current: contexts.length === 0 || Boolean(other?.current && name === 'local') }
}

async function agreesToReplace({ base_url }: Context): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stdout.isTTY) return false
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  const answer = await terminal.question(
    `\nThe context "local" of authctl is for ${base_url}. Replace it, with its session? (yes/no) `,
  )
  terminal.close()
  return /^y(es)?$/i.test(answer.trim())
}

async function startService(): Promise<string> {
  const log = createWriteStream(logFile, { flags: 'a', mode: 0o600 })
  const service = children.start('node', [gatehouse, 'serve'])
  service.stdout.pipe(log)
  const url = await children.waitForLine(service, (line) => {
    const entry = JSON.parse(line) as { msg?: string; url?: string }
    return entry.msg === 'listening' ? entry.url : undefined
  })
  service.stderr.pipe(process.stderr)
  return url
}

function nextSteps(url: string, { name, current }: Pick<Context, 'name' | 'current'>): string {
  const authctl = `npm run -s authctl --${current ? '' : ` --context ${name}`}`
  return `
authctl: context "${name}"
Next:
  ${`${authctl} whoami`.padEnd(37)} the command line for admins, in another terminal
  ${authctl} app list
  curl ${url}/api/v1/openapi.json       the HTTP API
  npm start -- --tour                   the tour above, again
  docs/start/quickstarts.md                   protect your own backend: four steps and seven lines

Ctrl-C ends it.`
}
