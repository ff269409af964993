export interface DigestJob {
  password: string
  /** 16 bytes. */
  salt: Uint8Array
  cost: number
  /** The job takes at least as long as a hash of this cost. */
  costAtLeast: number
}

export interface BcryptEngine {
  /** The 23 bytes that bcrypt computes from a password. */
  digest(job: DigestJob): Promise<Uint8Array>
}
