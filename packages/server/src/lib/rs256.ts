import { createPrivateKey, createPublicKey, generateKeyPair, hash, type JsonWebKey, type KeyObject, sign } from 'node:crypto'
import { promisify } from 'node:util'
import jwt, { type JwtPayload } from 'jsonwebtoken'

// The signatures of ID tokens. Only RSA, so that an app that verifies them cannot make one, and only with this algorithm.
const algorithm = 'RS256'
const modulusBits = 2048
const generate = promisify(generateKeyPair)
// With a callback, Node signs in its thread pool: on the event loop, a signature would take as long as a short request.
const signInPool = promisify(sign)

/** A new key pair. The private half is PKCS 8 in PEM. */
export interface NewKeyPair {
  /** The thumbprint of RFC 7638. */
  id: string
  publicJwk: JsonWebKey
  privateKey: string
}

export async function newKeyPair(): Promise<NewKeyPair> {
  const { publicKey, privateKey } = await generate('rsa', { modulusLength: modulusBits })
  const { e, kty, n } = publicKey.export({ format: 'jwk' })
  return {
    id: hash('sha256', JSON.stringify({ e, kty, n }), 'base64url'),
    publicJwk: { kty: kty ?? '', n: n ?? '', e: e ?? '' },
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

export function privateKeyOf(pem: string): KeyObject {
  return createPrivateKey(pem)
}

export function publicKeyOf(jwk: JsonWebKey): KeyObject {
  return createPublicKey({ key: jwk, format: 'jwk' })
}

const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

export async function signRs256(claims: object, { id, key }: { id: string; key: KeyObject }): Promise<string> {
  const text = `${encoded({ alg: algorithm, typ: 'JWT', kid: id })}.${encoded(claims)}`
  return `${text}.${(await signInPool('sha256', Buffer.from(text), key)).toString('base64url')}`
}

/** The claims of a JWT that the key with its `kid` signed. Undefined for all else. Does not check times. */
export function openRs256(text: string, keyOf: (id: string) => KeyObject | undefined): JwtPayload | undefined {
  try {
    const { kid, alg } = jwt.decode(text, { complete: true })?.header ?? {}
    const key = kid === undefined || alg !== algorithm ? undefined : keyOf(kid)
    if (!key) return undefined
    const claims = jwt.verify(text, key, { algorithms: [algorithm], ignoreExpiration: true, ignoreNotBefore: true })
    return typeof claims === 'object' ? claims : undefined
  } catch {
    return undefined
  }
}
