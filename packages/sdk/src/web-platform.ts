import { encodeBase64url } from './base64url.ts'
import {
  encodeHeader,
  type KeyMaterial,
  type OpenKeys,
  type SecretKey,
  SIGNATURE_CHARACTERS,
  type TextReader,
} from './platform.ts'
import { CONSUMER_KEY_BYTES, CONSUMER_KEY_INFO, CONSUMER_TOKEN_TYPE, keyIdOf, keyIdText } from './protocol.ts'

const encodeBytes = (bytes: Uint8Array | ArrayBuffer) => encodeBase64url(String.fromCharCode(...new Uint8Array(bytes)))
const utf8 = (text: string) => new TextEncoder().encode(text) as Uint8Array<ArrayBuffer>
const encode = (part: object) => encodeBytes(utf8(JSON.stringify(part)))

const hmac = { name: 'HMAC', hash: 'SHA-256', length: 8 * CONSUMER_KEY_BYTES }
type WebHmacKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>
const sign = async (key: WebHmacKey, text: string) => encodeBytes(await crypto.subtle.sign('HMAC', key, utf8(text)))

async function openKey(secret: string): Promise<SecretKey> {
  const { subtle } = crypto
  const digest = new Uint8Array(await subtle.digest('SHA-256', utf8(keyIdText(secret))))
  const hex = Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('')
  const kid = keyIdOf(secret, () => hex)
  const key = await subtle.importKey('raw', utf8(secret), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  return {
    kid,
    header: encodeHeader(encode, 'JWT', kid),
    signs: async (token, end) => isSignature(await sign(key, token.slice(0, end)), token, end),
    async signAsConsumer(claims) {
      const text = `${encodeHeader(encode, CONSUMER_TOKEN_TYPE, kid)}.${encode(claims)}`
      const from = await subtle.importKey('raw', utf8(secret), 'HKDF', false, ['deriveKey'])
      const hkdf = { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(), info: utf8(CONSUMER_KEY_INFO) }
      return `${text}.${await sign(await subtle.deriveKey(hkdf, from, hmac, false, ['sign']), text)}`
    },
  }
}

/**
 * Compares as text, which also refuses spare bits in the last character, and to the end even after a difference, so that the time
 * it takes reveals nothing.
 */
function isSignature(wanted: string, token: string, end: number): boolean {
  let difference = token.length - end - 1 - SIGNATURE_CHARACTERS
  for (let i = 0; i < SIGNATURE_CHARACTERS; i += 1) difference |= wanted.charCodeAt(i) ^ token.charCodeAt(end + 1 + i)
  return difference === 0
}

/** Decodes and encodes again: only the canonical spelling stays the same. */
const readText: TextReader = (encoded) => {
  const binary = atob(encoded.replaceAll('-', '+').replaceAll('_', '/'))
  if (encodeBase64url(binary) !== encoded) throw new Error('not canonical')
  const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0))
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
}

/** Opens the secrets with WebCrypto, which has no synchronous calls, for platforms without Node. */
export async function openWebKeys({ secrets }: KeyMaterial): Promise<OpenKeys> {
  return { keys: await Promise.all(secrets.map(openKey)), readText }
}
