import type { components } from '@gatehouse/sdk/admin'
import { bodyOf } from '../api/api-client.ts'
import { Failure, systemCodeOf } from '../command-line/exit-codes.ts'
import type { Tools } from '../tools/create-tools.ts'
import type { Line } from './split-lines.ts'

type Answer = components['schemas']['UserImport']

/** A line that was not imported, by its number in the file. */
export interface LineFault {
  line: number
  code: string
  message: string
}

/** The outcome of a batch. The counts are those of its lines. */
interface BatchAnswer extends Pick<Answer, 'imported' | 'updated' | 'unchanged' | 'failed'> {
  faults: LineFault[]
  /** An answer was lost, so lines that were imported by the first try may count as unchanged. */
  wasSentAgain: boolean
}

interface Mode {
  dryRun: boolean
  claimUnverified: boolean
}

/** Waits 8 s in all, about as long as a server takes to start again. */
const attempts = 6
const firstWaitMs = 250
/** With these codes the service did nothing, and the client has already waited and tried again. */
const waitedFor = ['rate_limited', 'unavailable']

/** Sends lines, and again if the answer was lost: the service counts a repeat as unchanged. Throws `counts_differ`. */
export async function sendBatch(
  tools: Tools,
  lines: readonly Line[],
  { isFirst, ...mode }: Mode & { isFirst: boolean },
): Promise<BatchAnswer> {
  const sent = lines.filter(({ isTooLong, fault }) => !isTooLong && !fault)
  const faults = lines.flatMap(({ line, isTooLong, fault }) =>
    isTooLong ? { line, ...tooLong } : fault ? { line, ...fault } : [],
  )
  if (sent.length === 0) return { imported: 0, updated: 0, unchanged: 0, failed: faults.length, faults, wasSentAgain: false }
  const body = Buffer.concat(sent.flatMap(({ bytes }) => [bytes, Buffer.from('\n')]))
  for (let attempt = 1; ; attempt += 1) {
    try {
      const { errors, ...counts } = await post(tools, body, mode)
      assertAddsUp(sent, counts, errors)
      faults.push(...errors.map(({ line, code, message }) => ({ line: sent[line - 1]!.line, code, message })))
      faults.sort((one, other) => one.line - other.line)
      return { ...counts, failed: faults.length, faults, wasSentAgain: attempt > 1 }
    } catch (thrown) {
      if (!mayHelp(thrown, isFirst && attempt === 1) || attempt === attempts) throw thrown
      tools.io.note(`${thrown.message}; lines ${span(sent)} are sent again`)
      await tools.sleep(firstWaitMs * 2 ** (attempt - 1))
    }
  }
}

const tooLong = { code: 'payload_too_large', message: 'The line is longer than 64 KiB; it was not sent' }

function post({ api, rehearsalApi }: Tools, body: Buffer, { dryRun, claimUnverified }: Mode): Promise<Answer> {
  const query = {
    ...(dryRun ? { dry_run: true } : {}),
    ...(claimUnverified ? { claim_unverified: true } : {}),
  }
  const request = {
    params: { query },
    headers: { 'content-type': 'application/x-ndjson' },
    // The OpenAPI document describes one line. The bytes are sent as they are, so that even broken UTF-8 stays unchanged.
    body: body as never,
  }
  return bodyOf((dryRun ? rehearsalApi : api).POST('/api/v1/admin/users/import', request))
}

/** Whether another try may succeed. An address that never answered is more likely wrong. */
function mayHelp(thrown: unknown, isFirstTry: boolean): thrown is Failure {
  if (!(thrown instanceof Failure) || thrown.ending !== 'unreachable' || waitedFor.includes(thrown.code)) return false
  return !isFirstTry || !['ECONNREFUSED', 'ENOTFOUND'].includes(String(systemCodeOf(thrown.cause)))
}

function assertAddsUp(sent: readonly Line[], counts: Omit<Answer, 'errors'>, errors: Answer['errors']): void {
  const { imported, updated, unchanged, failed } = counts
  const total = imported + updated + unchanged + failed
  const isListed = errors.length === failed && errors.every(({ line }) => sent[line - 1] !== undefined)
  if (total === sent.length && isListed) return
  throw new Failure(
    'failures',
    `the counts do not add up: of the ${sent.length} lines ${span(sent)} the service counted ${total}, ` +
      `${failed} of them as failed, and named ${errors.length}`,
    { code: 'counts_differ', hint: 'does something between authctl and the service change requests or answers?' },
  )
}

/** `4001 to 6000`. */
export function span(lines: readonly Line[]): string {
  return `${lines[0]!.line} to ${lines.at(-1)!.line}`
}
