import { fillRandom } from './random.ts'

const pattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const bytes = Buffer.alloc(16)
let lastMs = 0
let sequence = 0

/**
 * A UUID of version 7 (RFC 9562): 48 bits of Unix milliseconds, then a counter that grows within a millisecond, then 62 random
 * bits. Ids made by one process therefore sort by their creation, which keyset pages rely on.
 */
export function newId(now: number = Date.now()): string {
  fillRandom(bytes)
  if (now > lastMs) {
    lastMs = now
    sequence = bytes.readUInt16BE(6) & 0x07ff
  } else {
    sequence += 1
    if (sequence > 0x0fff) {
      lastMs += 1
      sequence = 0
    }
  }
  return idOf(bytes, lastMs, sequence)
}

/** The UUID of version 7 that a moment and a digest give. The same ones always give the same. */
export function idFrom(ms: number, digest: Buffer): string {
  const bytes = Buffer.from(digest.subarray(0, 16))
  return idOf(bytes, ms, bytes.readUInt16BE(6) & 0x0fff)
}

function idOf(bytes: Buffer, ms: number, sequence: number): string {
  bytes.writeUIntBE(ms, 0, 6)
  bytes.writeUInt16BE(0x7000 | sequence, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** Whether `text` has the form of a UUID of any version. */
export function isUuid(text: string): boolean {
  return pattern.test(text)
}

/** The smallest UUID of version 7 for a moment. Ids that are made then or later are not below it. */
export function firstIdAt(ms: number): string {
  const hex = Math.max(0, ms).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`
}

/** The moment with which an id of version 7 begins. */
export function msOfId(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
}
