// A service that sends its mail to a mail server in the tests.
import { onTestFinished } from 'vitest'
import { startOutbox } from '../../packages/server/src/workers/outbox.ts'
import { mailChannel } from '../../packages/server/src/workers/send-mail.ts'
import { createWebhookChannel } from '../../packages/server/src/workers/send-webhook.ts'
import { type Mailbox, type OnEnd, startMailbox, until } from './mail-server.ts'
import { buildService, type TestService } from './service.ts'

export * from './mail-server.ts'

/** Starts the worker that sends, as `serve` does; it stops when the test ends. */
export function startSending(service: TestService, onEnd: OnEnd = onTestFinished): void {
  const worker = startOutbox(service.deps, { mail: mailChannel, webhook: createWebhookChannel() })
  onEnd(() => worker.stop())
}

/** Makes the worker look at the outbox immediately, for tests that have moved the clock. */
export function sendNow(service: TestService): void {
  service.deps.outboxBell.ring()
}

/** Waits until no mail is pending. A mail that has not arrived by then was not sent. */
export async function allSent(service: TestService): Promise<void> {
  await until(async () => {
    const waiting = await service.deps.db('outbox').where({ kind: 'mail', status: 'pending' }).first('id')
    return waiting === undefined
  }, 'an outbox without waiting mails')
}

/** Starts a service and the mailbox that its mail goes to. */
export async function buildMailingService(
  settings: Record<string, string> = {},
  onEnd: OnEnd = onTestFinished,
): Promise<{ service: TestService; mailbox: Mailbox }> {
  const mailbox = await startMailbox({}, onEnd)
  const service = await buildService({ SMTP_URL: mailbox.url, ...settings }, onEnd)
  startSending(service, onEnd)
  return { service, mailbox }
}
