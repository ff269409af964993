import { bodyOf } from '../../api/api-client.ts'
import { Failure } from '../../command-line/exit-codes.ts'
import { text } from '../../command-line/options.ts'
import { command } from '../../tools/command.ts'

export const verifyAudit = command({
  path: 'audit verify',
  options: {
    head: text(
      'POSITION:SEAL',
      'End of the chain, from the log of the service ("audit sealed"). Also detects events cut off the end',
    ),
  },
  summary: 'Check whether events were changed, removed or inserted by anything but the service',
  description:
    'Compares every event with its proof and with the chain of seals. Exits with 8 and names the first event that is not what the service wrote. ' +
    'The counts are those of the compared events; the head is the end of the chain.',
  examples: [
    'audit verify',
    'audit verify --head 48211:1f0c9b7e.Yw3cWb0yC5n2Jm8QpT4sVd6LxKz1RaEu7HoGiNfMtBk',
    'audit verify --json',
  ],
  async run({ api }, { head }) {
    const counts = { checked: 0, adopted: 0, unsealed: 0 }
    let cursor: string | undefined
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
  subject: 'event' | 'head' | 'checkpoint'
  position: number | null
  event_id: string | null
}

function sentenceOf({ kind, subject, position, event_id: id }: Fault): string {
  const place = position === null ? 'without a seal' : `at position ${position}`
  const named =
    subject === 'event' ? `the event ${id === null ? '' : `${id} `}${place}` : `the record of the ${endOf(subject)} of the chain`
  if (kind === 'removed') return `${named} is missing`
  if (kind === 'inserted') return `${named} was not written by the service`
  if (kind === 'unknown_key') return `${named} was proven with a key that the service no longer has`
  return `${named} is not what the service wrote`
}

function endOf(subject: 'head' | 'checkpoint'): string {
  return subject === 'head' ? 'end' : 'beginning'
}
