import { createPrivateKey, createPublicKey, hkdfSync, type KeyObject, sign } from 'node:crypto'

/** What stands before the 32 bytes of a private key of Ed25519 in PKCS 8. */
const privateKeyPrefix = Buffer.from('302e020100300506032b657004220420', 'hex')

/** What the signature of a part of an archive covers besides its lines. */
interface ArchivedPart {
  service_id: string
  before: string
  /** Whether it is the first part, and whether it is the last. */
  first: boolean
  last: boolean
  /** The batch before the first one, and the last one. The number 0 stands for the beginning of all. */
  after: { batch: number; seal: string }
  to: { batch: number; seal: string; position: number }
  events: number
}

/** Signs archives of the audit, which can be checked without a secret. The key comes from that of the proofs. */
export class ArchiveSigner {
  readonly #key: KeyObject
  /** In base64url. */
  readonly publicKey: string

  constructor(proofKey: Buffer) {
    const seed = Buffer.from(hkdfSync('sha256', proofKey, '', 'gatehouse-audit-archive', 32))
    this.#key = createPrivateKey({ key: Buffer.concat([privateKeyPrefix, seed]), format: 'der', type: 'pkcs8' })
    this.publicKey = createPublicKey(this.#key).export({ format: 'jwk' }).x ?? ''
  }

  /** The line that ends a part, given the digest of the lines before it. */
  lineOf(part: ArchivedPart, digest: string): string {
    const signed = `gatehouse-audit-archive\n${JSON.stringify(part)}\n${digest}`
    const signature = sign(null, Buffer.from(signed), this.#key).toString('base64url')
    return JSON.stringify({ part, digest, key: this.publicKey, signature })
  }
}
