import { keyedDigest } from './keyed-digest.ts'

/**
 * The code of six digits that a mail carries. It is made from a secret that only the browser that asked for the mail holds, so it
 * is stored nowhere, and is worth nothing in another browser.
 */
export function codeOfMail(encryptionKey: Buffer, codeKey: string): string {
  const digest = Buffer.from(keyedDigest(encryptionKey, 'mail-code', codeKey), 'base64url')
  return String(digest.readUIntBE(0, 6) % 1_000_000).padStart(6, '0')
}
