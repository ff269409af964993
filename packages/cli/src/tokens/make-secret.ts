import { keyIdOf } from '@gatehouse/sdk/protocol'

const bytes = 48

/** A fresh random signing secret, and its key id. */
export async function makeSecret(): Promise<{ secret: string; kid: string }> {
  // Loaded late: most commands do not need it.
  const { hash, randomBytes } = await import('node:crypto')
  const secret = randomBytes(bytes).toString('base64')
  return { secret, kid: keyIdOf(secret, hash) }
}
