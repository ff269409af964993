// An authenticator app: RFC 6238 implemented from its text, without the library that the service uses.
import { createHmac } from 'node:crypto'
import { type Json, PASSWORD, type Reply } from './client.ts'
import type { TestService } from './service.ts'

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

function fromBase32(text: string): Buffer {
  const bits = [...text].map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, '0')).join('')
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
}

/** The code of a base32 seed at a time in milliseconds. */
export function totpAt(secret: string, ms: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(ms / 30_000)))
  const digest = createHmac('sha1', fromBase32(secret)).update(counter).digest()
  const offset = digest.at(-1)! & 15
  return String((digest.readUInt32BE(offset) & 0x7fff_ffff) % 1_000_000).padStart(6, '0')
}

export interface Authenticator {
  secret: string
  recoveryCodes: string[]
  /** The code `steps` steps from now, by the service's clock. */
  code(steps?: number): string
  /** A code that does not fit any nearby step. */
  wrongCode(): string
}

/** Turns on two-factor for the holder of a token. Advances the service's clock, so that the current code is unspent. */
export async function enableTwoFactor(service: TestService, token: string): Promise<Authenticator> {
  const { body: setUp } = await service.call('POST', '/auth/2fa/setup', { token })
  const code = (steps = 0) => totpAt(setUp.secret, service.deps.clock() + steps * 30_000)
  const activated = await service.call('POST', '/auth/2fa/activate', { token, body: { code: code() } })
  if (activated.status !== 200) throw new Error(`not activated: ${JSON.stringify(activated.body)}`)
  service.advance(30)
  return {
    secret: setUp.secret,
    recoveryCodes: activated.body.recovery_codes,
    code,
    wrongCode() {
      const near = new Set([-2, -1, 0, 1, 2].map(code))
      return ['000000', '111111', '222222', '333333', '444444', '555555'].find((each) => !near.has(each))!
    },
  }
}

/** A login with a second factor. */
export function loginWithCode(service: TestService, user: Json, app: Json, code?: unknown, password = PASSWORD): Promise<Reply> {
  return service.login(user.email, app.code, { password, ...(code === undefined ? {} : { two_factor_code: code }) })
}
