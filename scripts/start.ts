// `npm start` runs the service on SQLite in this folder. The first run creates the first admin and walks through the main use of
// Gatehouse; `npm start -- --tour` repeats the walk. All data is in .gatehouse/; delete that folder to start over.
import { randomBytes } from 'node:crypto'
import { createWriteStream, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Children } from './children.ts'
import { NotSignedInError, runTour } from './tour.ts'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const folder = '.gatehouse'
const startedMark = join(folder, 'started')
const logFile = join(folder, 'gatehouse.log')
const gatehouse = join(root, 'packages/server/dist/gatehouse.js')
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

  if (!isFirstRun && !process.argv.includes('--tour')) console.log(nextSteps(url))
  else if (await walk(url, adminPassword)) {
    // Only here: an interrupted first run still counts as a first run the next time.
    writeFileSync(startedMark, '')
    console.log(nextSteps(url))
  }
  const code = await children.anyExit()
  // Ctrl-C reaches every program of the terminal at once, also the service.
  if (isStopping) return
  throw new Error(`the service stopped unexpectedly (exit ${code}); its log is in ${logFile}`)
}

/** Runs the walk. Returns false if there is no session of an admin at this service; the service then runs on without the walk. */
async function walk(url: string, adminPassword: string | undefined): Promise<boolean> {
  try {
    await runTour({ root, folder, url, admin: { email: adminEmail, password: adminPassword }, children })
    return true
  } catch (error) {
    if (!(error instanceof NotSignedInError)) throw error
    console.log(`
The tour was skipped: ${error.message}
Sign in from another terminal, then start again with npm start -- --tour:
  npm run -s authctl -- login --base-url ${url} --email ${adminEmail}
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

function nextSteps(url: string): string {
  return `
Next:
  npm run -s authctl -- whoami          the command line for admins, in another terminal
  npm run -s authctl -- app list
  curl ${url}/api/v1/openapi.json       the HTTP API
  npm start -- --tour                   the tour above, again
  docs/quickstarts.md                   protect your own backend: four steps and seven lines

Ctrl-C ends it.`
}
