import { createHmac } from 'node:crypto'

/** A digest that only this service can compute: for keys that are stored but may not tell which address they stand for. */
export function keyedDigest(key: Buffer, purpose: string, ...parts: readonly string[]): string {
  return createHmac('sha256', key)
    .update([`gatehouse-${purpose}`, ...parts].join('\0'))
    .digest('base64url')
}
