import { createHmac } from 'node:crypto'

const secretPrefix = 'whsec_'

/** The `webhook-signature` of Standard Webhooks. It signs the id, the time in seconds, and the exact bytes of the body. */
export function signWebhook(secret: string, message: { id: string; timestamp: number; body: string }): string {
  const key = Buffer.from(secret.slice(secretPrefix.length), 'base64')
  const signed = `${message.id}.${message.timestamp}.${message.body}`
  return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`
}
