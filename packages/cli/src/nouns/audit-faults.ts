import type { components } from '@gatehouse/sdk/admin'

type Verification = components['schemas']['AuditVerification']
type Former = NonNullable<Verification['former']>
type Fault = Pick<NonNullable<Verification['fault']>, 'kind' | 'subject' | 'position' | 'event_id'> & { batch: number | null }

export function sentenceOf(fault: Fault): string {
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

/** What is known of the chain that a version before batches has left. */
export function sayFormer({ position, checked, closed, faults }: Former): string {
  if (faults > 0) return `${faults} of ${position} events not whole at the upgrade`
  if (checked < position) return `${checked} of ${position} events compared so far`
  return closed ? `${position} events, compared and closed` : `${position} events, compared`
}

/** Undefined if nothing was wrong with it. */
export function faultOfFormer({ faults, first_fault: first }: Former): string | undefined {
  if (faults === 0 || !first) return undefined
  const others = faults === 1 ? '' : `, the first of ${faults}`
  return `when the chain of an earlier version was compared at the upgrade, ${sentenceOf({ ...first, batch: null })}${others}`
}
