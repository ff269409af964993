import { encodeBase64url } from './base64url.ts'
import {
  consumerLabel,
  decodeUtf8,
  isSignature,
  keyIdLabel,
  type Platform,
  prefixOf,
  type SigningKey,
  type TextReader,
} from './platform.ts'

const encodeBytes = (bytes: Uint8Array | ArrayBuffer) => encodeBase64url(String.fromCharCode(...new Uint8Array(bytes)))
const utf8 = (text: string) => new TextEncoder().encode(text) as Uint8Array<ArrayBuffer>

const encode = (text: string) => encodeBytes(utf8(text))

const hmac = { name: 'HMAC', hash: 'SHA-256', length: 256 }
type WebHmacKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>
const sign = async (key: WebHmacKey, text: string) => encodeBytes(await crypto.subtle.sign('HMAC', key, utf8(text)))

async function keyId(secret: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', utf8(keyIdLabel + secret))
  return new DataView(digest).getUint32(0).toString(16).padStart(8, '0')
}

async function openKey(secret: string): Promise<SigningKey> {
  const kid = await keyId(secret)
  const key = await crypto.subtle.importKey('raw', utf8(secret), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  const signs = async (token: string, end: number) => isSignature(await sign(key, token.slice(0, end)), token, end)
  return { kid, prefix: prefixOf(kid, encode), signs }
}

/** Only the canonical spelling comes out again as it went in. */
const readText: TextReader = (encoded) => {
  const binary = atob(encoded.replaceAll('-', '+').replaceAll('_', '/'))
  if (encodeBase64url(binary) !== encoded) throw new Error('not canonical')
  return decodeUtf8(Uint8Array.from(binary, (character) => character.charCodeAt(0)))
}

/** Where Node is not: WebCrypto, which has no synchronous calls. */
export const webPlatform: Platform<true> = {
  openKeys: async ({ secrets }) => ({ keys: await Promise.all(secrets.map(openKey)), readText }),
  keyId,
  encode,

  async signAsConsumer(secret, text) {
    const { subtle } = crypto
    const from = await subtle.importKey('raw', utf8(secret), 'HKDF', false, ['deriveKey'])
    const hkdf = { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(), info: utf8(consumerLabel) }
    return sign(await subtle.deriveKey(hkdf, from, hmac, false, ['sign']), text)
  },
}
