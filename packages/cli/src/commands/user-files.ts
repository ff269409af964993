import { open } from 'node:fs/promises'
import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import type { components } from '@gatehouse/sdk/admin'
import { type Api, bodyOf, type Pages, pages, readAll } from '../api/api-client.ts'
import { Failure, messageOf, toFailure, usageFailure } from '../command-line/exit-codes.ts'
import { choice, flag, requiredText, text } from '../command-line/options.ts'
import { parsePlainName } from '../nouns/plain-name.ts'
import { noteUnknownPool } from '../nouns/pool-names.ts'
import { isAbsent } from '../nouns/user-records.ts'
import { findUserId } from '../nouns/user-ref.ts'
import { list, type Result, rowsOf } from '../output/render.ts'
import { duration, grouped, progressBar } from '../terminal/progress-bar.ts'
import { sourceName } from '../terminal/read-source.ts'
import { counted } from '../text/counted.ts'
import { command } from '../tools/command.ts'
import type { Tools } from '../tools/create-tools.ts'
import { type FailuresFile, openFailuresFile } from '../user-files/failures-file.ts'
import { Holders } from '../user-files/holders.ts'
import { type Batch, importBatches } from '../user-files/import-batches.ts'
import { type LineFault, sendBatch, span } from '../user-files/send-batch.ts'

export const importUsers = command({
  path: 'user import',
  options: {
    file: requiredText('FILE', 'One JSON object per line, or CSV with a header; gzip is unpacked; - is standard input', {
      short: 'f',
    }),
    format: choice(['ndjson', 'csv'], 'Format of FILE. Default: csv if its name ends in .csv or .csv.gz, else ndjson'),
    claimUnverified: flag(
      'Take over accounts with an unproven address: remove the password, second factor, sessions, memberships and names that their ' +
        'registrant set, and apply the line as for a new user',
    ),
    failures: text('FILE', 'File for the rows that could not be imported: fix them and import this file. It may contain hashes'),
  },
  summary: 'Import users with their password hashes',
  description:
    'Each line is a user: email, password_hash (bcrypt), first_name, last_name, namespace, tags, apps, roles, email_verified. In CSV the ' +
    'header names these columns, in any order; tags, apps and roles are split by ;. The file ' +
    'is sent in batches, and may be sent again at any time: existing users stay unchanged, or gain tags, apps and roles. A line ' +
    'that fails does not stop the others; the exit code is then 8. A line for an account that was registered but never proven fails ' +
    'with account_unverified, unless --claim-unverified is given. --dry-run lets the service check the lines and writes nothing; it ' +
    'checks each batch of 2,000 lines separately.',
  examples: [
    'user import -f users.ndjson --dry-run',
    'user import -f users.csv.gz --failures failed.csv',
    'user import -f - --json < users.ndjson',
  ],
  async run(tools, { file, format, failures, claimUnverified }) {
    const { io, settings, now } = tools
    const { pieces, bytes } = await openSource(tools, file)
    const failuresFile = failures === undefined ? undefined : openFailuresFile(failures, file)
    const isCsv = format === undefined ? /\.csv(\.gz)?$/i.test(file) : format === 'csv'
    const form = {
      isCsv,
      tellColumns(columns: string, header: Buffer) {
        failuresFile?.setHeader(header)
        io.note(`columns: ${columns}`)
      },
    }
    const tally = newTally()
    const started = now()
    let current: Batch | undefined
    let nextLine = 1
    const forget = tools.onInterrupt(() => interrupted(tally, current))
    const show = (end: number) => {
      const share = bytes === undefined || source?.isPacked !== false ? undefined : Math.min(1, end / bytes)
      io.showProgress(progressBar({ lines: tally.lines, share, elapsedMs: now() - started }))
    }
    let source: Awaited<ReturnType<typeof unpacked>> | undefined
    let fatal: Failure | undefined
    try {
      source = await unpacked(pieces, file)
      show(0)
      for await (const batch of importBatches(source.pieces, sourceName(file), form)) {
        current = batch
        nextLine = batch.lines[0]!.line
        const isFirst = tally.lines === 0
        add(
          tally,
          batch,
          await sendBatch(tools, batch.lines, { dryRun: settings.dryRun, claimUnverified, isFirst }),
          failuresFile,
        )
        current = undefined
        nextLine = batch.lines.at(-1)!.line + 1
        show(batch.end)
      }
    } catch (thrown) {
      fatal = toFailure(thrown)
      // Nothing was imported, so report only the reason.
      if (tally.lines === 0) throw fatal
      tally.stopped_at_line = nextLine
    } finally {
      forget()
      io.showProgress(undefined)
      failuresFile?.close()
    }
    if (settings.dryRun) io.note(`nothing is imported ${tools.place()} (--dry-run)`)
    tellEnd(tools, tally, { file, failures, seconds: (now() - started) / 1000 })
    return report(tally, fatal, { dryRun: settings.dryRun, failures })
  },
})

/** The report keeps at most this many faults, and counts all of them. */
const mostErrors = 10_000
/** A terminal shows at most this many. */
const mostShown = 20

interface Tally {
  lines: number
  imported: number
  updated: number
  unchanged: number
  failed: number
  /** Lines whose answer was lost, so they were sent again. Those imported by the first try may count as unchanged. */
  sent_again: number
  /** With --failures, each has its line in that file, or null if the line was too long to keep. */
  errors: (LineFault & { failures_line?: number | null })[]
  /** The line at which the import ended early. All lines before it were processed. */
  stopped_at_line: number | null
}

/** The bytes of the file and their number. Opens the file at once, so that an unreadable one fails before anything is sent. */
async function openSource(
  { io }: Tools,
  file: string,
): Promise<{ pieces: AsyncIterable<Buffer, void, undefined>; bytes: number | undefined }> {
  if (file === '-') return { pieces: io.inputBytes(), bytes: undefined }
  try {
    const handle = await open(file)
    const status = await handle.stat()
    if (status.isDirectory()) throw new Error('it is a folder')
    const bytes = status.isFile() && status.size > 0 ? status.size : undefined
    return { pieces: readPieces(handle.createReadStream(), file), bytes }
  } catch (error) {
    throw unreadable(file, error)
  }
}

const gzip = Buffer.from([0x1f, 0x8b])

/** Unpacks input that begins like gzip. `isPacked` says that the size of the file does not show how many lines are left. */
async function unpacked(
  pieces: AsyncIterable<Buffer, void, undefined>,
  file: string,
): Promise<{ pieces: AsyncIterable<Buffer, void, undefined>; isPacked: boolean }> {
  const iterator = pieces[Symbol.asyncIterator]()
  let begin = Buffer.alloc(0)
  while (begin.length < gzip.length) {
    const next = await iterator.next()
    if (next.done) break
    begin = Buffer.concat([begin, next.value])
  }
  async function* all(): AsyncGenerator<Buffer, void, undefined> {
    yield begin
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value
  }
  const isPacked = begin.subarray(0, gzip.length).equals(gzip)
  return {
    pieces: isPacked
      ? readPieces(
          pipeline(Readable.from(all()), createGunzip(), () => {}),
          file,
        )
      : all(),
    isPacked,
  }
}

async function* readPieces(
  stream: AsyncIterable<Buffer, void, undefined>,
  file: string,
): AsyncGenerator<Buffer, void, undefined> {
  try {
    yield* stream
  } catch (error) {
    throw unreadable(file, error)
  }
}

function unreadable(file: string, error: unknown): Failure {
  return new Failure('invalid', `cannot read ${file}: ${messageOf(error)}`, { code: 'file_unreadable' })
}

function newTally(): Tally {
  return { lines: 0, imported: 0, updated: 0, unchanged: 0, failed: 0, sent_again: 0, errors: [], stopped_at_line: null }
}

function add(
  tally: Tally,
  { lines }: Batch,
  { faults, wasSentAgain, ...counts }: Awaited<ReturnType<typeof sendBatch>>,
  failuresFile: FailuresFile | undefined,
): void {
  tally.lines += lines.length
  tally.imported += counts.imported
  tally.updated += counts.updated
  tally.unchanged += counts.unchanged
  tally.failed += counts.failed
  if (wasSentAgain) tally.sent_again += lines.length
  const failed = new Map(faults.map((fault) => [fault.line, fault]))
  for (const { line, bytes, raw, isTooLong } of lines) {
    const fault = failed.get(line)
    if (!fault) continue
    // Only the beginning of a line that is too long was kept.
    const row = failuresFile && { failures_line: isTooLong ? null : failuresFile.add(raw ?? bytes) }
    if (tally.errors.length < mostErrors) tally.errors.push({ ...fault, ...row })
  }
}

function interrupted(tally: Tally, current: Batch | undefined): Failure {
  const under = current ? `; lines ${span(current.lines)} were in progress` : ''
  return new Failure('interrupted', `interrupted: ${grouped(tally.lines)} lines are done${under}`, {
    code: 'interrupted',
    hint: 'run the same command again: users that are already imported stay unchanged',
  })
}

function tellEnd({ io }: Tools, tally: Tally, run: { file: string; failures: string | undefined; seconds: number }): void {
  const { lines, failed, sent_again, stopped_at_line } = tally
  const seconds = Math.max(run.seconds, 0.001)
  if (lines === 0) io.note(`${sourceName(run.file)} contains no lines`)
  else io.note(`${counted(lines, 'line')} in ${duration(Math.round(seconds))}, ${grouped(Math.round(lines / seconds))}/s`)
  if (sent_again > 0) io.note(`the answer to ${counted(sent_again, 'line')} was lost, so some may count as unchanged`)
  if (failed > 0 && run.failures !== undefined)
    io.note(`the rows that failed are in ${run.failures}: fix them, then authctl user import -f ${run.failures}`)
  if (stopped_at_line !== null)
    io.note(`stopped at line ${stopped_at_line}: run it again; users that are already imported stay unchanged`)
}

function report(
  tally: Tally,
  fatal: Failure | undefined,
  { dryRun, failures }: { dryRun: boolean; failures: string | undefined },
): Result {
  const { errors, stopped_at_line, sent_again, ...counts } = tally
  const failed = counts.failed > 0 ? someFailed(tally) : undefined
  const shown = rowsOf(errors.slice(0, mostShown), [
    'line',
    ...(failures === undefined ? [] : (['failures_line'] as const)),
    'code',
    'message',
  ])
  const more = counts.failed > mostShown ? [`… and ${grouped(counts.failed - mostShown)} more; --json lists them`] : []
  const told = {
    ...counts,
    ...(sent_again > 0 ? { sent_again } : {}),
    ...(stopped_at_line === null ? {} : { stopped_at_line }),
    ...(dryRun ? { dry_run: true } : {}),
  }
  return {
    kind: 'report',
    value: {
      ...counts,
      sent_again,
      stopped_at_line,
      failures_file: failures ?? null,
      ...(dryRun ? { dry_run: true } : {}),
      errors,
    },
    parts: [...(errors.length > 0 ? [shown, ...more, ''] : []), { record: told }],
    failure: fatal ?? failed,
  }
}

function someFailed({ failed, lines, errors }: Tally): Failure {
  const hint = errors.some(({ code }) => code === 'account_unverified') ? unverifiedHint : undefined
  return new Failure('failures', `${grouped(failed)} of ${counted(lines, 'line')} failed`, { code: 'some_failed', hint })
}

const unverifiedHint =
  'account_unverified: another person may have registered the address; --claim-unverified removes what they set and imports the line'

type User = components['schemas']['User']

/** Left out: every user holds this role, and an import assigns it. */
const everyonesRole = 'base_user'

export const exportUsers = command({
  path: 'user export',
  options: {
    pool: text('POOL', 'Only users of this pool, as home pool or tag', { completes: 'pools' }),
    user: text('USER', 'Everything that the service keeps about this user instead, as the user can download it'),
  },
  summary: 'Print users in the format that user import reads, or everything about one user',
  description:
    'Newest first, without password hashes, because no API returns them: imported users set a password with a reset mail. ' +
    'Apps are those that the user may enter now, without the end of the grant. A suspended user has a member status, which import ' +
    'refuses, so that an import does not let them in. Deleted users are left out. With --user it prints one JSON document with the rows ' +
    'of the user in every table, without secrets; this is audited.',
  examples: [
    'user export > users.ndjson',
    'user export --pool staff -o ndjson > staff.ndjson',
    'user export --user bob@example.com > bob.json',
  ],
  formats: { all: ['ndjson'], terminal: 'ndjson', pipe: 'ndjson' },
  async run(tools, { pool, user }) {
    if (user !== undefined) {
      if (pool !== undefined) throw usageFailure('--pool and --user cannot be given together')
      return list(onePage(await everythingAbout(tools.api, user)), [], '')
    }
    const filter = pool === undefined ? {} : { namespace: parsePlainName(pool, 'pool') }
    return list(noteUnknownPool(tools, pool, exportLines(tools.api, filter)), [], 'no users')
  },
})

async function everythingAbout(api: Api, user: string): Promise<object> {
  const path = { userId: await findUserId(api, user) }
  return bodyOf(api.GET('/api/v1/admin/users/{userId}/export', { params: { path } }))
}

async function* onePage(document: object): Pages<object> {
  yield [document]
}

/** Lists the users of each app and role and joins the lists. A request for each user would take hours instead of minutes. */
async function* exportLines(api: Api, filter: { namespace?: string }): Pages<object> {
  const users = (query: { app?: string; role?: string }) =>
    untilGone(pages((page) => bodyOf(api.GET('/api/v1/admin/users', { params: { query: { ...filter, ...query, ...page } } }))))
  const apps = new Holders(await codesOfApps(api), (app) => users({ app }))
  const roles = new Holders(await codesOfGlobalRoles(api), (role) => users({ role }))
  for await (const page of users({})) {
    const lines: object[] = []
    for (const user of page) lines.push(lineOf(user, await apps.of(user.id), await roles.of(user.id)))
    yield lines
  }
}

/** An app or role that is deleted while the export runs has no users any more. */
async function* untilGone<T>(pages: Pages<T>): Pages<T> {
  try {
    yield* pages
  } catch (thrown) {
    if (!isAbsent(thrown)) throw thrown
  }
}

async function codesOfApps(api: Api): Promise<string[]> {
  const apps = await readAll(pages((page) => bodyOf(api.GET('/api/v1/admin/apps', { params: { query: page } }))))
  return apps.map(({ code }) => code)
}

async function codesOfGlobalRoles(api: Api): Promise<string[]> {
  const roles = await readAll(pages((page) => bodyOf(api.GET('/api/v1/admin/roles', { params: { query: page } }))))
  return roles.filter(({ scope, code }) => scope === 'global' && code !== everyonesRole).map(({ code }) => code)
}

function lineOf(user: User, apps: string[], roles: string[]): object {
  const { email, first_name, last_name, namespace, namespaces, email_verified, status } = user
  const tags = namespaces.filter((pool) => pool !== namespace)
  const line = { email, first_name, last_name, namespace, tags, apps, roles, email_verified }
  return status === 'active' ? line : { ...line, status }
}
