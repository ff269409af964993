import { keyIdOf } from '@gatehouse/sdk/protocol'

const bytes = 48
const webhookBytes = 32

/** A fresh random signing secret, and its key id. */
export async function makeSecret(): Promise<{ secret: string; kid: string }> {
  // Loaded late: most commands do not need it.
  const { hash, randomBytes } = await import('node:crypto')
  const secret = randomBytes(bytes).toString('base64')
  return { secret, kid: keyIdOf(secret, hash) }
}

/** A fresh random secret for a webhook, in the form of Standard Webhooks. */
export async function makeWebhookSecret(): Promise<string> {
  const { randomBytes } = await import('node:crypto')
  return `whsec_${randomBytes(webhookBytes).toString('base64')}`
}
