import { bodyOf } from '../../api/api-client.ts'
import { Failure, usageFailure } from '../../command-line/exit-codes.ts'
import { text } from '../../command-line/options.ts'
import { command } from '../../tools/command.ts'

export const verifyAudit = command({
  path: 'audit verify',
  options: {
    head: text(
      'POSITION:SEAL',
      'End of the chain, from the log of the service ("audit sealed"). Also detects events cut off the end',
    ),
    sinceBatch: text('BATCH', 'Begin after this batch, the BATCH of an earlier run. Needs the --head of that run or a later one'),
  },
  summary: 'Check whether events were changed, removed or inserted by anything but the service',
  description:
    'Compares every event with its proof and its batch. Exits with 8 and names the first event that is not what the service wrote. ' +
    'The counts are those of the compared events; the head is the end of the last batch. Note both: the next run can go on from there.',
  examples: [
    'audit verify',
    'audit verify --since-batch 8112 --head 48211:1f0c9b7e.Yw3cWb0yC5n2Jm8QpT4sVd6LxKz1RaEu7HoGiNfMtBk',
    'audit verify --json',
  ],
  async run({ api }, { head, sinceBatch }) {
    if (sinceBatch !== undefined && !/^\d{1,15}$/.test(sinceBatch))
      throw usageFailure('--since-batch must be the number of a batch')
    if (sinceBatch !== undefined && head === undefined)
      throw usageFailure('--since-batch needs --head', 'without it, the events before could have been replaced')
    const counts = { checked: 0, adopted: 0, unsealed: 0 }
    let cursor = sinceBatch === undefined ? undefined : `batch.${sinceBatch}`
    for (;;) {
      const query = { ...(cursor !== undefined && { cursor }), ...(head !== undefined && { head }) }
      const page = await bodyOf(api.GET('/api/v1/admin/audit/verify', { params: { query } }))
      counts.checked += page.checked
      counts.adopted += page.adopted
      counts.unsealed += page.unsealed
      cursor = page.next_cursor ?? undefined
      if (cursor !== undefined) continue
      const { fault } = page
      const shown = {
        ...counts,
        batch: page.head?.batch ?? null,
        head: page.head === null ? null : `${page.head.position}:${page.head.seal}`,
        whole: fault === null,
      }
      const said = fault === null ? undefined : sentenceOf(fault)
      return {
        kind: 'report',
        value: { ...shown, head: page.head, fault },
        parts: [{ record: shown }, ...(said === undefined ? [] : ['', said])],
        failure:
          said === undefined
            ? undefined
            : new Failure('failures', said, {
                code: 'audit_not_whole',
                hint: 'docs/sealed-audit.md, "When verify names an event"',
              }),
      }
    }
  },
})

interface Fault {
  kind: 'changed' | 'removed' | 'inserted' | 'unknown_key'
  subject: 'event' | 'batch' | 'head' | 'checkpoint'
  position: number | null
  batch: number | null
  event_id: string | null
}

function sentenceOf(fault: Fault): string {
  const named = nameOf(fault)
  if (fault.kind === 'removed') return `${named} is missing`
  if (fault.kind === 'inserted') return `${named} was not written by the service`
  if (fault.kind === 'unknown_key') return `${named} was proven with a key that the service no longer has`
  return `${named} is not what the service wrote`
}

function nameOf({ subject, position, batch, event_id: id }: Fault): string {
  if (subject === 'batch') return `the batch ${batch}`
  if (subject === 'head') return 'the record of the end of the seals'
  if (subject === 'checkpoint') return 'the record of the beginning of the seals'
  const place = [
    ...(position === null ? [] : [`at position ${position}`]),
    ...(batch === null ? [] : [`in batch ${batch}`]),
    ...(position === null && batch === null ? ['without a seal'] : []),
  ]
  return ['the event', ...(id === null ? [] : [id]), ...place].join(' ')
}
