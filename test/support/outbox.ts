// Runs the outbox worker in this process, next to a service, so that tests control its clock and its network.
import { expect, onTestFinished } from 'vitest'
import { resolveOnce } from '../../packages/server/src/adapters/guarded-dial.ts'
import type { Db } from '../../packages/server/src/db/handle.ts'
import { type Channel, startOutbox } from '../../packages/server/src/workers/outbox.ts'
import { createWebhookChannel } from '../../packages/server/src/workers/send-webhook.ts'
import type { Json, TestService } from './service.ts'

/** A channel that sends nothing. */
export const idle: Channel = {
  atOnce: 0,
  atOncePerDestination: 0,
  waitsMs: [],
  attempt: async () => ({ result: 'failed', error: 'never asked' }),
}

type Network = Parameters<typeof createWebhookChannel>[0]

/** Sends the webhooks of a service until the test ends. An attempt may take 10 s unless `network` says otherwise. */
export function sendWebhooks(
  service: TestService,
  network: Partial<Network> = {},
  onEnd: (fn: () => Promise<void>) => void = onTestFinished,
): { stop(): Promise<void> } {
  const webhook = createWebhookChannel({ resolve: resolveOnce, timeoutMs: 10_000, ...network })
  const worker = startOutbox(service.deps, { webhook, mail: idle })
  onEnd(() => worker.stop())
  return worker
}

/** Moves the clock of the service and makes its worker look at the outbox. */
export function passTime(service: TestService, seconds: number): void {
  service.advance(seconds)
  service.deps.outboxBell.ring()
}

/** Waits until the deliveries of an app, oldest first, match `expected`, and returns them. */
export async function deliveriesOf(service: TestService, app: { id: string }, expected: Json[]): Promise<Json[]> {
  let items: Json[] = []
  await expect
    .poll(
      async () => {
        const { body } = await service.admin('GET', `/admin/apps/${app.id}/webhook-deliveries?limit=200`)
        items = body.items.reverse()
        return items
      },
      { interval: 15, timeout: 60_000 },
    )
    .toMatchObject(expected)
  return items
}

/** Waits until a server has sent the mails to a user. A mail takes the lock of its user's row, so a test that counts who waits for it comes later. */
export async function mailsOf(db: Db, userId: string): Promise<void> {
  await expect.poll(() => db('outbox').where({ user_id: userId, status: 'pending' }), { interval: 20 }).toEqual([])
}
