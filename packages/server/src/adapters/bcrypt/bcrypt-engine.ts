export interface DigestJob {
  password: string
  /** 16 bytes. */
  salt: Uint8Array
  cost: number
  /** It takes the time of a hash of this cost, if that is the higher one. */
  costAtLeast: number
}

export interface BcryptEngine {
  /** The 23 bytes that bcrypt makes of a password. */
  digest(job: DigestJob): Promise<Uint8Array>
}
