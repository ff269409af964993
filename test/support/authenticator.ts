// An authenticator in software: it makes passkeys and signs with them, and can be told to do it wrong.
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import type { Arrival } from './sign-in-page.ts'

const flagOf = { present: 0x01, verified: 0x04, eligible: 0x08, backedUp: 0x10, attested: 0x40 }

export interface Ways {
  origin: string
  rpId: string
  crossOrigin: boolean
  topOrigin: string
  type: string
  challenge: string
  isPresent: boolean
  isVerified: boolean
  isEligible: boolean
  isBackedUp: boolean
  count: number
  /** What the browser says of a new passkey: whether it can be found without an address. */
  isResident: boolean
  userHandle: string
  credentialId: string
  format: string
}

/** What a page asks the browser for. */
export interface AskedPasskey {
  challenge: string
  rpId?: string
  rp?: { id: string }
  user?: { id: string }
  excludeCredentials?: { id: string }[]
}

export function askedIn(page: Pick<Arrival, 'html'>): AskedPasskey | undefined {
  const encoded = /data-options="([^"]*)"/.exec(page.html)?.[1]
  return encoded && JSON.parse(encoded.replace(/&#(\d+);/g, (_, point: string) => String.fromCodePoint(Number(point))))
}

export class Authenticator {
  readonly origin: string
  credentialId: string = randomBytes(16).toString('base64url')
  userHandle = ''
  count = 0
  isSynced: boolean
  readonly #key: KeyObject
  readonly #cose: Buffer

  constructor(origin: string, { isSynced = false } = {}) {
    this.origin = origin
    this.isSynced = isSynced
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
    this.#key = privateKey
    const point = (coordinate: string) => Buffer.from(coordinate, 'base64url')
    this.#cose = cborMap([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, point(x)],
      [-3, point(y)],
    ])
  }

  /** The answer of `navigator.credentials.create`, as the form carries it. */
  create(asked: AskedPasskey, ways: Partial<Ways> = {}): string {
    this.userHandle = asked.user?.id ?? ''
    const id = Buffer.from(ways.credentialId ?? this.credentialId, 'base64url')
    const length = Buffer.alloc(2)
    length.writeUInt16BE(id.length)
    const attested = Buffer.concat([Buffer.alloc(16), length, id, this.#cose])
    const data = this.#data(asked.rp?.id ?? '', ways, attested)
    const attestation = cborMap([
      ['fmt', ways.format ?? 'none'],
      ['attStmt', new Map<string, never>()],
      ['authData', data],
    ])
    return JSON.stringify({
      ...{ id: id.toString('base64url'), rawId: id.toString('base64url'), type: 'public-key' },
      response: {
        clientDataJSON: this.#client('webauthn.create', asked, ways).toString('base64url'),
        attestationObject: attestation.toString('base64url'),
        transports: ['internal'],
      },
      clientExtensionResults: { credProps: { rk: ways.isResident ?? true } },
    })
  }

  /** The answer of `navigator.credentials.get`. */
  get(asked: AskedPasskey, ways: Partial<Ways> = {}): string {
    if (this.count > 0) this.count += 1
    const data = this.#data(asked.rpId ?? '', ways)
    const client = this.#client('webauthn.get', asked, ways)
    const signed = Buffer.concat([data, createHash('sha256').update(client).digest()])
    const id = ways.credentialId ?? this.credentialId
    return JSON.stringify({
      ...{ id, rawId: id, type: 'public-key' },
      response: {
        clientDataJSON: client.toString('base64url'),
        authenticatorData: data.toString('base64url'),
        signature: sign('sha256', signed, this.#key).toString('base64url'),
        userHandle: ways.userHandle ?? this.userHandle,
      },
    })
  }

  #client(type: string, { challenge }: AskedPasskey, ways: Partial<Ways>): Buffer {
    const { crossOrigin = false, topOrigin } = ways
    const said = {
      type: ways.type ?? type,
      challenge: ways.challenge ?? challenge,
      origin: ways.origin ?? this.origin,
      crossOrigin,
    }
    return Buffer.from(JSON.stringify({ ...said, ...(topOrigin === undefined ? {} : { topOrigin }) }))
  }

  #data(rpId: string, ways: Partial<Ways>, attested?: Buffer): Buffer {
    const { isPresent = true, isVerified = true, isEligible = this.isSynced, isBackedUp = this.isSynced } = ways
    const flags =
      (isPresent ? flagOf.present : 0) |
      (isVerified ? flagOf.verified : 0) |
      (isEligible ? flagOf.eligible : 0) |
      (isBackedUp ? flagOf.backedUp : 0) |
      (attested ? flagOf.attested : 0)
    const head = Buffer.alloc(5)
    head.writeUInt8(flags)
    head.writeUInt32BE(ways.count ?? this.count, 1)
    const hash = createHash('sha256')
      .update(ways.rpId ?? rpId)
      .digest()
    return Buffer.concat([hash, head, attested ?? Buffer.alloc(0)])
  }
}

type Cbor = number | string | Buffer | Map<string, never>

function cborMap(entries: readonly (readonly [number | string, Cbor])[]): Buffer {
  return Buffer.concat([cborHead(5, entries.length), ...entries.flatMap(([key, value]) => [cborOf(key), cborOf(value)])])
}

function cborOf(value: Cbor): Buffer {
  if (typeof value === 'number') return value < 0 ? cborHead(1, -1 - value) : cborHead(0, value)
  if (typeof value === 'string') return Buffer.concat([cborHead(3, Buffer.byteLength(value)), Buffer.from(value)])
  return value instanceof Map ? cborHead(5, 0) : Buffer.concat([cborHead(2, value.length), value])
}

function cborHead(major: number, count: number): Buffer {
  if (count < 24) return Buffer.from([(major << 5) | count])
  if (count < 256) return Buffer.from([(major << 5) | 24, count])
  return Buffer.from([(major << 5) | 25, count >> 8, count & 0xff])
}
