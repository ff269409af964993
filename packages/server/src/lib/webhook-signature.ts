import { createHmac } from 'node:crypto'

const secretPrefix = 'whsec_'

/** `webhook-signature` as Standard Webhooks has it: of the id, the time in seconds, and the body to the byte. */
export function signWebhook(secret: string, message: { id: string; timestamp: number; body: string }): string {
  const key = Buffer.from(secret.slice(secretPrefix.length), 'base64')
  const signed = `${message.id}.${message.timestamp}.${message.body}`
  return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`
}
