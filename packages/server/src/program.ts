import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { parseArgs, parseEnv } from 'node:util'
import { keptSecret, readSecretFile } from './adapters/secret-files.ts'
import { backUp, bringBack, readReplacedKeys, restore } from './backups.ts'
import { type Config, ConfigError, loadConfig } from './config.ts'
import type { Pool } from './db/handle.ts'
import { migrateDatabase, pendingMigrations } from './db/migrate.ts'
import { SchemaDiffersError, SchemaTooNewError, UpgradeRefusedError } from './db/schema-errors.ts'
import { SqliteFileError } from './db/sqlite-file.ts'
import { closeDeps, createDeps, type Deps } from './deps.ts'
import { ApiError } from './errors.ts'
import { createSystemAdmin } from './flows/bootstrap/bootstrap.ts'
import { codeOf } from './lib/system-error-code.ts'
import { DatabaseUnavailableError } from './lib/unavailable.ts'
import { readAppSecret } from './resources/apps/apps.ts'
import type { AuditFault } from './resources/audit/present.ts'
import { systemActor } from './resources/audit/record-event.ts'
import { checkAudit } from './resources/audit/verify-audit.ts'
import type { FinishedRestore } from './resources/system/finish-restore.ts'
import { checkInvariants, countUnopenable } from './resources/system/system.ts'
import { assertKeyFits, assertMigratable, StartError } from './start-error.ts'

const usage = `Usage: gatehouse <command> [--env-file FILE]

  serve                                             run the service
  migrate                                           bring the database up to date
  create-admin --email E --password-stdin [--promote [--claim-unverified]]
                                                    create a system_admin. --promote takes an existing user;
                                                    --claim-unverified also one who never verified the address,
                                                    removing the password and all else set at registration
  app-secret CODE                                   print the newest secret of an app that has its own signing key,
                                                    for its consumers. The audit records that it was read
  check [--deep]                                    check settings and database; exit 0 or 1. --deep also checks all
                                                    rows, and exits with 3 after a line for each broken rule
  backup FILE [--force]                             SQLite: copy the database to a file; it may be in use
  restore FILE [--force]                            SQLite: restore a backup. --force replaces an existing database
                                                    and keeps it under another name. Includes finish-restore
  finish-restore [--replaced DATABASE]              run after any other kind of restore: ends all sessions, links,
                                                    open invitations and access tokens, which may have been revoked
                                                    since the backup. --replaced compares the signing keys of apps
                                                    with another database on the same Postgres, or SQLite file
`

/** A wrong command line. The operator sees the message and the usage. */
class UsageError extends Error {}

const keptFolder = '.gatehouse'
/** Statement timeout for commands that go over all rows of a table. */
const patientMs = 86_400_000

function readConfig(envFile: string | undefined): Config {
  const fromFile = envFile === undefined ? {} : parseEnv(readFileSync(envFile, 'utf8'))
  return loadConfig(
    { ...fromFile, ...process.env },
    { kept: (name) => keptSecret(keptFolder, name), file: (path) => readSecretFile(path) },
  )
}

/** Runs the command that the process was started with. */
export function runProgram(): Promise<void> {
  return main().catch(fail)
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      'env-file': { type: 'string' },
      email: { type: 'string' },
      'password-stdin': { type: 'boolean', default: false },
      promote: { type: 'boolean', default: false },
      'claim-unverified': { type: 'boolean', default: false },
      force: { type: 'boolean', default: false },
      deep: { type: 'boolean', default: false },
      replaced: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  const [command, ...rest] = positionals
  if (values.help || command === undefined) {
    process.stdout.write(usage)
    if (!values.help) process.exitCode = 2
    return
  }
  const named = command === 'backup' || command === 'restore' || command === 'app-secret' ? rest.shift() : undefined
  if (rest.length > 0) throw new UsageError(`unexpected argument: ${rest[0]}`)
  switch (command) {
    case 'serve':
      return runServe(createDeps(readConfig(values['env-file'])))
    case 'migrate':
      return withDeps(values['env-file'], runMigrate)
    case 'create-admin':
      return withDeps(values['env-file'], (deps) => runCreateAdmin(deps, values))
    case 'app-secret':
      return withDeps(values['env-file'], (deps) => runAppSecret(deps, named))
    case 'check':
      return values.deep
        ? withDeps(values['env-file'], runDeepCheck, { dbStatementTimeoutMs: patientMs })
        : withDeps(values['env-file'], runCheck)
    case 'backup':
      return runBackup(readConfig(values['env-file']), named, values)
    case 'restore':
      return runRestore(readConfig(values['env-file']), named, values)
    case 'finish-restore':
      return withDeps(values['env-file'], (deps) => runFinishRestore(deps, values.replaced), { dbStatementTimeoutMs: patientMs })
    default:
      throw new UsageError(`unknown command: ${command}`)
  }
}

/** Runs a short command with logging off. Its answer is the only output on stdout; errors go to stderr. */
async function withDeps(
  envFile: string | undefined,
  run: (deps: Deps<Pool>) => Promise<void>,
  settings: Partial<Config> = {},
): Promise<void> {
  const deps = createDeps({ ...readConfig(envFile), logLevel: 'silent', ...settings })
  try {
    await run(deps)
  } finally {
    await closeDeps(deps)
  }
}

async function runServe(deps: Deps<Pool>): Promise<void> {
  // Only this command needs the routes, the schemas and the workers.
  const { serve } = await import('./serve.ts')
  const starting = serve(deps)
  let stopping = false
  // Handle signals before the server logs that it listens, since the process that reads that line may stop it at once.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (stopping) process.exit(1)
      stopping = true
      starting.then((server) => server.stop()).then(() => process.exit(0), fail)
    })
  }
  await starting.catch(async (error: unknown) => {
    await closeDeps(deps)
    throw error
  })
}

async function runMigrate(deps: Deps): Promise<void> {
  const applied = await migrateDatabase(deps)
  process.stdout.write(applied.length > 0 ? `applied ${applied.join(', ')}\n` : 'up to date\n')
}

async function runCreateAdmin(
  deps: Deps<Pool>,
  options: { email?: string; 'password-stdin': boolean; promote: boolean; 'claim-unverified': boolean },
): Promise<void> {
  if (options.email === undefined) throw new UsageError('--email is required')
  if (options['claim-unverified'] && !options.promote) throw new UsageError('--claim-unverified requires --promote')
  if (!options['password-stdin'] && !options.promote)
    throw new UsageError('--password-stdin is required: the password is read from standard input')
  const password = options['password-stdin'] ? (await text(process.stdin)).replace(/\r?\n$/, '') : undefined
  await migrateDatabase(deps)
  await assertKeyFits(deps)
  const outcome = await createSystemAdmin(
    deps,
    {
      email: options.email,
      password,
      promote: options.promote,
      claimsUnproven: options['claim-unverified'],
      unlessOneExists: false,
    },
    systemActor,
  )
  process.stdout.write(`${outcome === 'claimed' ? 'claimed and promoted' : outcome} ${options.email}\n`)
}

/** Prints only the secret to stdout, so that it can be piped into a secret store. */
async function runAppSecret(deps: Deps<Pool>, code: string | undefined): Promise<void> {
  if (code === undefined) throw new UsageError('app-secret needs the code of an app')
  await assertKeyFits(deps)
  const { secret, kid, stage } = await readAppSecret(deps, code, systemActor)
  const use = stage === 'next' ? 'is accepted now and signs after the switch' : 'signs'
  process.stderr.write(`JWT_ACCESS_SECRET for the consumers of ${code}: key ${kid} ${use}\n`)
  process.stdout.write(`${secret}\n`)
}

/**
 * Fails on anything that would keep the service from starting or from serving some users. Pending migrations that `serve` runs at
 * start are only printed.
 */
async function runCheck(deps: Deps): Promise<void> {
  process.stderr.write(linesOf(deps.config))
  const pending = await pendingMigrations(deps.db)
  process.stdout.write(`settings: ok\ndatabase: ok${pending.length > 0 ? `, pending migrations: ${pending.join(', ')}` : ''}\n`)
  assertMigratable(deps, pending)
  // With migrations pending, the tables may not exist yet.
  const lost = pending.length > 0 ? [] : await countUnopenable(deps)
  if (lost.length > 0) {
    const what = lost.map(({ what, count }) => `${count} ${what}`).join(', ')
    throw new StartError(`${what} were sealed with another AUTH_ENCRYPTION_KEY; set it as AUTH_ENCRYPTION_KEY_PREVIOUS`)
  }
  process.stdout.write('encryption key: ok\n')
}

/** Prints a line for each rule that the rows or the audit break. The exit code is then 3, since the settings are fine. */
async function runDeepCheck(deps: Deps<Pool>): Promise<void> {
  await runCheck(deps)
  if ((await pendingMigrations(deps.db)).length > 0) throw new StartError('run `gatehouse migrate` before a deep check')
  const lines = await checkInvariants(deps)
  process.stdout.write(lines.length === 0 ? 'rows: ok\n' : lines.map((line) => `${line}\n`).join(''))
  const fault = await checkAudit(deps)
  process.stdout.write(fault ? `${lineOfFault(fault)}\n` : 'audit: ok\n')
  if (lines.length > 0 || fault) process.exitCode = 3
}

function lineOfFault({ kind, subject, position, event }: AuditFault): string {
  const what = [subject, event?.id, position === null ? undefined : `at position ${position}`].filter(Boolean).join(' ')
  return `audit: not intact: ${kind}: ${what}. See docs/operate/sealed-audit.md, "When verify names an event"`
}

async function runBackup(config: Config, file: string | undefined, options: { force: boolean }): Promise<void> {
  if (file === undefined) throw new UsageError('backup needs the name of a file')
  await backUp(config, file, options)
  process.stdout.write(`backed up to ${file}\n`)
}

async function runRestore(config: Config, file: string | undefined, options: { force: boolean }): Promise<void> {
  if (file === undefined) throw new UsageError('restore needs the name of a backup')
  const { ended, kept } = await restore(config, file, options)
  process.stdout.write(
    `restored ${file}\n${kept === undefined ? '' : `the replaced database is kept as ${kept}\n`}${linesOfRestore(ended)}`,
  )
}

async function runFinishRestore(deps: Deps<Pool>, name: string | undefined): Promise<void> {
  const replaced = name === undefined ? undefined : await readReplacedKeys(deps.config, name)
  process.stdout.write(linesOfRestore(await bringBack(deps, replaced)))
}

function linesOfRestore({ sessions, links, invitations, ownKeys }: FinishedRestore): string {
  const ended = `ended ${sessions} sessions, ${links} mail links, ${invitations} invitations, and every access token\n`
  const apps = ownKeys.codes.join(', ')
  if (apps === '') return ended
  return ownKeys.isCompared
    ? `${ended}signing keys that changed since the backup are as they were: ${apps}. See docs/operate/restoring.md\n`
    : `${ended}signing keys of these apps are as they were at the backup: ${apps}. See docs/operate/restoring.md\n`
}

/** Faults and warnings about the settings, one per line. */
function linesOf({ faults = [], warnings }: { faults?: readonly string[]; warnings: readonly string[] }): string {
  return [...faults, ...warnings.map((warning) => `warning: ${warning}`)].map((line) => `gatehouse: ${line}\n`).join('')
}

function fail(thrown: unknown): never {
  const isDatabaseAway = thrown instanceof DatabaseUnavailableError
  // The driver's message names the host and the reason.
  const error = isDatabaseAway ? thrown.cause : thrown
  if (error instanceof ConfigError) process.stderr.write(linesOf(error))
  else if (error instanceof UsageError || isParseArgsError(error)) process.stderr.write(`gatehouse: ${error.message}\n\n${usage}`)
  else if (
    error instanceof Error &&
    [StartError, SchemaDiffersError, SchemaTooNewError, UpgradeRefusedError, SqliteFileError, ApiError].some(
      (known) => error instanceof known,
    )
  )
    process.stderr.write(`gatehouse: ${error.message}\n`)
  else if (error instanceof Error && (isDatabaseAway || 'code' in error))
    process.stderr.write(`gatehouse: ${error.message || codeOf(error)}\n`)
  else process.stderr.write(`gatehouse: ${error instanceof Error ? error.stack : String(error)}\n`)
  process.exit(error instanceof UsageError || isParseArgsError(error) ? 2 : 1)
}

function isParseArgsError(error: unknown): error is Error {
  return error instanceof TypeError && codeOf(error)?.startsWith('ERR_PARSE_ARGS') === true
}
