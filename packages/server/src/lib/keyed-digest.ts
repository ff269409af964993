import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'

/** With raw bytes instead of a `KeyObject`, `createHmac` is several times slower. */
const prepared = new WeakMap<Buffer, KeyObject>()

/** A digest that only this service can compute. Use it for stored keys that must not reveal which address they stand for. */
export function keyedDigest(key: Buffer, purpose: string, ...parts: readonly string[]): string {
  const object = prepared.get(key) ?? createSecretKey(key)
  prepared.set(key, object)
  return createHmac('sha256', object)
    .update([`gatehouse-${purpose}`, ...parts].join('\0'))
    .digest('base64url')
}
