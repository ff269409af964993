import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import type { App } from '../../models/app.ts'
import { OutboxMessage, type OutboxRow, type RedeliverySelection } from '../../models/outbox-message.ts'
import { getApp } from '../apps/get-app.ts'
import { recordEvent } from '../audit/record-event.ts'
import type { RedeliverAllInput } from './schema.ts'

/** Deliveries that one transaction queues. A receiver that was down for a day has missed very many. */
const portion = 500

type Chosen = Pick<OutboxRow, 'id' | 'name' | 'destination'>

interface Redelivery {
  app: App
  selection: RedeliverySelection
}

/**
 * Sends the deliveries of an app again that were created in a time range and ended with `status`, to the current URLs of their
 * webhooks. Returns how many. Each portion commits with its audit event: if the call is interrupted, repeat it to do the rest.
 * Throws `not_found`.
 */
export async function redeliverAll(deps: Deps<Pool>, input: RedeliverAllInput, actor: Actor): Promise<number> {
  const redelivery = await selectDeliveries(deps, input)
  const { selection } = redelivery
  let count = 0
  let chosen: Chosen[] = []
  do {
    chosen = await OutboxMessage.listRedeliverable(deps.db, selection, { after: chosen.at(-1)?.id, limit: portion })
    if (chosen.length > 0) count += await transaction(deps, (deps) => requeuePortion(deps, redelivery, chosen, actor))
  } while (chosen.length === portion)
  return count
}

/** How many `redeliverAll` would send again. Throws `not_found`. */
export async function countRedeliverable(deps: Deps, input: RedeliverAllInput): Promise<number> {
  return OutboxMessage.countRedeliverable(deps.db, (await selectDeliveries(deps, input)).selection)
}

async function selectDeliveries(deps: Deps, { app: ref, status, since, until }: RedeliverAllInput): Promise<Redelivery> {
  const app = await getApp(deps, ref)
  const isOnly = (name: string) => app.webhooks.filter((webhook) => webhook.name === name).length === 1
  const enabled = app.webhooks.filter(({ enabled }) => enabled)
  const webhooks = enabled.map(({ name, url }) => ({ name, url, isOnly: isOnly(name) }))
  return { app, selection: { appId: app.id, webhooks, status, since, until } }
}

async function requeuePortion(
  deps: Deps<Tx>,
  { app, selection: { status, webhooks } }: Redelivery,
  chosen: readonly Chosen[],
  actor: Actor,
): Promise<number> {
  let count = 0
  for (const { name, url, isOnly } of webhooks) {
    const isFor = (message: Chosen) => message.name === name && (isOnly || message.destination === url)
    const ids = chosen.filter(isFor).map(({ id }) => id)
    // A concurrent call for the same deliveries finds them pending.
    if (ids.length > 0) count += await OutboxMessage.requeueAll(deps.db, ids, { status, now: deps.clock(), destination: url })
  }
  if (count === 0) return 0
  await recordEvent(deps, { event: 'webhook.redelivered', actor, appId: app.id, details: { status, count } })
  deps.afterCommit?.push(() => deps.outboxBell.ring())
  return count
}
