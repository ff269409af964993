import { encodeBase64url } from '../base64url.ts'
import type { Tokens } from './token-endpoint.ts'

/** Browsers keep cookies of up to 4,096 bytes, with their names and attributes. */
const PART_CHARACTERS = 3_600
/** Servers accept headers of 16 KiB or less, in all. */
const MAX_PARTS = 4
const IV_BYTES = 12
/** The name of the cookie with the tokens. */
export const SESSION = '_session'

type Key = Awaited<ReturnType<typeof crypto.subtle.importKey>>
export type Cookies = ReadonlyMap<string, string>

/** What is kept for each `state` while the user is at the service. */
export interface Begun {
  readonly returnTo: string
  /** Unset for a sign-out. */
  readonly asked?: {
    readonly verifier: string
    readonly issuer: string
    /** The user who has to come back, for a step-up. */
    readonly userId?: string | undefined
  }
}

/** What is in each cookie, by its name. */
interface Kept {
  readonly [SESSION]: Tokens
  readonly [login: `_login.${string}`]: Begun
}

/**
 * Cookies that only this app can read or make: JSON, encrypted with AES-256-GCM under a key derived from `cookieSecret`. Each is
 * bound to its name, so a cookie is worth nothing under another name or in another app.
 */
export class SealedCookies {
  readonly #secrets: readonly string[]
  readonly #context: string
  readonly #attributes: string
  /** With https, browsers accept the prefix from this very host alone, so no other host of the domain can plant a cookie. */
  readonly #prefix: string
  #keys: Promise<Key[]> | undefined

  constructor(secrets: readonly string[], appCode: string, isSecure: boolean) {
    this.#secrets = secrets
    this.#context = `gatehouse-web:${appCode}`
    this.#attributes = `; Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`
    // Ports of one host share cookies, so the name tells apps on localhost apart.
    this.#prefix = `${isSecure ? '__Host-' : ''}gatehouse_${encodeURIComponent(appCode)}`
  }

  /** Returns the `Set-Cookie` headers that replace the cookie, and clear those of its `sent` parts that are left over. */
  async set<Name extends keyof Kept>(name: Name, value: Kept[Name], sent: Cookies, maxAgeSec?: number): Promise<string[]> {
    const sealed = await this.#seal(name, value)
    const count = Math.ceil(sealed.length / PART_CHARACTERS)
    if (count > MAX_PARTS) throw new RangeError(`the tokens of a user need ${count} cookies, and ${MAX_PARTS} are allowed`)
    const until = maxAgeSec === undefined ? '' : `; Max-Age=${maxAgeSec}`
    const parts = Array.from({ length: count }, (_, index) => {
      const part = sealed.slice(index * PART_CHARACTERS, (index + 1) * PART_CHARACTERS)
      return `${this.#partName(name, index)}=${index === 0 ? `${count}.` : ''}${part}${this.#attributes}${until}`
    })
    return [...parts, ...this.clear(name, sent, count)]
  }

  /** Returns the `Set-Cookie` headers that delete the `sent` parts of a cookie, from one on. */
  clear(name: string, sent: Cookies, from = 0): string[] {
    const indexes = Array.from({ length: MAX_PARTS - from }, (_, index) => from + index)
    const stale = indexes.map((index) => this.#partName(name, index)).filter((part) => sent.has(part))
    return stale.map((part) => `${part}=${this.#attributes}; Max-Age=0`)
  }

  /** Returns undefined unless every part is there, as it was made together with the others. */
  async open<Name extends keyof Kept>(name: Name, sent: Cookies): Promise<Kept[Name] | undefined> {
    const [, count = '', first = ''] = /^([1-9])\.(.*)$/.exec(sent.get(this.#partName(name, 0)) ?? '') ?? []
    if (Number(count) > MAX_PARTS || !first) return undefined
    const others = Array.from({ length: Number(count) - 1 }, (_, index) => sent.get(this.#partName(name, index + 1)) ?? '')
    const sealed = first + others.join('')
    for (const key of await this.#open()) {
      const opened = await unseal(key, sealed, this.#boundTo(name)).catch(() => undefined)
      // Only `set` under the same name can have sealed it.
      if (opened !== undefined) return opened as Kept[Name]
    }
    return undefined
  }

  /** The names of the sent cookies that begin with `name`, without what precedes it, sorted. */
  names(name: string, sent: Cookies): string[] {
    const start = `${this.#prefix}${name}`
    const known = [...sent.keys()].filter((each) => each.startsWith(start) && each.endsWith('.0'))
    return known.map((each) => each.slice(this.#prefix.length, -'.0'.length)).sort()
  }

  /** Returns a `Cookie` header after the browser has obeyed these `Set-Cookie` headers, or without any cookie of this app. */
  after(sent: Cookies, changes: readonly string[] | undefined): string {
    const cookies = new Map([...sent].filter(([name]) => changes || !name.startsWith(this.#prefix)))
    for (const change of changes ?? []) {
      const [, name = '', value = ''] = /^([^=]*)=([^;]*)/.exec(change) ?? []
      if (value) cookies.set(name, value)
      else cookies.delete(name)
    }
    return [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  }

  #partName(name: string, index: number): string {
    return `${this.#prefix}${name}.${index}`
  }

  #boundTo(name: string): Uint8Array<ArrayBuffer> {
    return utf8(`${this.#context}:${name}`)
  }

  async #seal(name: string, value: object): Promise<string> {
    const [key] = await this.#open()
    const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES))
    const algorithm = { name: 'AES-GCM', iv, additionalData: this.#boundTo(name) }
    const sealed = new Uint8Array(await crypto.subtle.encrypt(algorithm, key!, utf8(JSON.stringify(value))))
    let binary = ''
    for (const byte of [...iv, ...sealed]) binary += String.fromCharCode(byte)
    return encodeBase64url(binary)
  }

  #open(): Promise<Key[]> {
    this.#keys ??= Promise.all(this.#secrets.map((secret) => deriveKey(secret, this.#context)))
    return this.#keys
  }
}

async function deriveKey(secret: string, context: string): Promise<Key> {
  const from = await crypto.subtle.importKey('raw', utf8(secret), 'HKDF', false, ['deriveKey'])
  const hkdf = { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(), info: utf8(context) }
  return crypto.subtle.deriveKey(hkdf, from, { name: 'AES-GCM', length: 256 }, false, ['encrypt', 'decrypt'])
}

async function unseal(key: Key, sealed: string, additionalData: Uint8Array<ArrayBuffer>): Promise<unknown> {
  const binary = atob(sealed.replaceAll('-', '+').replaceAll('_', '/'))
  const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0))
  const algorithm = { name: 'AES-GCM', iv: bytes.subarray(0, IV_BYTES), additionalData }
  return JSON.parse(new TextDecoder().decode(await crypto.subtle.decrypt(algorithm, key, bytes.subarray(IV_BYTES))))
}

function utf8(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text) as Uint8Array<ArrayBuffer>
}

/**
 * Reads a `Cookie` header. Of two cookies with one name, the first counts, as browsers send the more specific one first. Only what
 * browsers put between cookies is cut off: with other white space, such as U+00A0, a name is another one, which has no prefix
 * for the browser, so that any host of the domain can set it. Strangers choose the header, so the work must not grow faster than
 * it.
 */
export function readCookies(header: string | null | undefined): Cookies {
  const cookies = new Map<string, string>()
  for (const pair of (header ?? '').split(';')) {
    const end = pair.indexOf('=')
    const name = pair.slice(0, Math.max(end, 0)).replace(/^[ \t]+/, '')
    if (name && !cookies.has(name)) cookies.set(name, pair.slice(end + 1))
  }
  return cookies
}
