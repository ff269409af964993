// A service that sends its mail to a mail server of the tests.
import { onTestFinished } from 'vitest'
import { startOutbox } from '../../packages/server/src/workers/outbox.ts'
import { mailChannel } from '../../packages/server/src/workers/send-mail.ts'
import { createWebhookChannel } from '../../packages/server/src/workers/send-webhook.ts'
import { type Mailbox, type OnEnd, startMailbox, until } from './mail-server.ts'
import { buildService, type TestService } from './service.ts'

export * from './mail-server.ts'

/** Starts the worker that sends, as `serve` does it; it stops with the test. */
export function startSending(service: TestService, onEnd: OnEnd = onTestFinished): void {
  const worker = startOutbox(service.deps, { mail: mailChannel, webhook: createWebhookChannel() })
  onEnd(() => worker.stop())
}

/** Lets the worker look now: a test that has moved the clock does not wait for its next look. */
export function sendNow(service: TestService): void {
  service.deps.outboxBell.ring()
}

/** Waits until no mail is waiting to be sent: what has not arrived by then never will. */
export async function allSent(service: TestService): Promise<void> {
  await until(async () => {
    const waiting = await service.deps.db('outbox').where({ kind: 'mail', status: 'pending' }).first('id')
    return waiting === undefined
  }, 'an outbox without waiting mails')
}

/** A service that sends its mail to a mailbox of its own. */
export async function buildMailingService(
  settings: Record<string, string> = {},
  onEnd: OnEnd = onTestFinished,
): Promise<{ service: TestService; mailbox: Mailbox }> {
  const mailbox = await startMailbox({}, onEnd)
  const service = await buildService({ SMTP_URL: mailbox.url, ...settings }, onEnd)
  startSending(service, onEnd)
  return { service, mailbox }
}
