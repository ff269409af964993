const alphabet = './ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
const base64Alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/** The parts of a bcrypt hash. They have the same positions in all its versions ($2a$, $2b$ and $2y$). */
interface BcryptHash {
  /** 16 bytes. */
  salt: Uint8Array
  cost: number
  /** 23 bytes. */
  digest: Uint8Array
}

export function parseBcrypt(text: string): BcryptHash {
  return { cost: Number(text.slice(4, 6)), salt: decode(text.slice(7, 29)), digest: decode(text.slice(29)) }
}

export function formatBcrypt({ cost, salt, digest }: BcryptHash): string {
  return `$2b$${String(cost).padStart(2, '0')}$${encode(salt)}${encode(digest)}`
}

/** Salt and digest as text. Two texts that differ in their last, unused bits are not the same hash. */
export function bcryptBody(text: string): string {
  return text.slice(7)
}

/** bcrypt writes base64 with a different alphabet and without padding. */
function encode(bytes: Uint8Array): string {
  return translate(Buffer.from(bytes).toString('base64').replaceAll('=', ''), base64Alphabet, alphabet)
}

function decode(text: string): Uint8Array {
  return Buffer.from(translate(text, alphabet, base64Alphabet), 'base64')
}

function translate(text: string, from: string, to: string): string {
  return Array.from(text, (character) => to.charAt(from.indexOf(character))).join('')
}
