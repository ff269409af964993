import { type AuthError, configInvalid } from './errors.ts'

/** A user was created through the app, in whichever way (docs/guard-a-backend/webhooks.md). */
export interface UserRegistered {
  /** The same on every attempt and redelivery, and in the header `webhook-id`. Store the ids that you have handled. */
  readonly id: string
  readonly event: 'user.registered'
  /** Only in a sample that an admin sent. */
  readonly test?: true
  /** ISO 8601. */
  readonly occurred_at: string
  readonly app: { readonly id: string; readonly code: string; readonly name: string }
  readonly user: {
    readonly id: string
    readonly email: string
    readonly email_verified: boolean
    readonly first_name: string | null
    readonly last_name: string | null
    /** The home pool. */
    readonly namespace: string
    /** The home pool first, then pool tags. */
    readonly namespaces: readonly string[]
    readonly status: 'active' | 'suspended' | 'deleted'
    readonly created_at: string
  }
  readonly organization: {
    readonly id: string
    readonly slug: string
    readonly name: string
    readonly role_codes: readonly string[]
  } | null
  /** The body of the registration, without its secrets. A stranger wrote it, so treat it as untrusted input. */
  readonly registration: Readonly<Record<string, unknown>>
  readonly context: { readonly ip: string | null; readonly user_agent: string | null; readonly request_id: string | null }
}

/** An event, identified by `event`. A newer service may send other kinds: answer those that you don't know with 2xx. */
export type WebhookEvent = UserRegistered

export type WebhookErrorCode =
  /** A header of Standard Webhooks is missing or malformed. */
  | 'WEBHOOK_HEADERS'
  /** The message was sent too long ago or in the future: an old message is repeated, or a clock is off. */
  | 'WEBHOOK_TIMESTAMP'
  /** No signature matches the body under any of the secrets. */
  | 'WEBHOOK_SIGNATURE'
  /** The signature is right, but the body is not an event. */
  | 'WEBHOOK_BODY'

// A registered symbol, so that two copies of this package recognize each other's errors.
const brand = Symbol.for('gatehouse.WebhookError')

/**
 * The reason why a webhook message is refused. It contains no part of the message except names of headers.
 *
 * @example
 * ```ts
 * import { verifyWebhook, WebhookError } from '@gatehouse/sdk/webhooks'
 *
 * try {
 *   await verifyWebhook(headers, rawBody, secret)
 * } catch (error) {
 *   if (error instanceof WebhookError) console.log(error.code) // answer 401
 *   else throw error
 * }
 * ```
 */
export class WebhookError extends Error {
  override readonly name = 'WebhookError'
  readonly code: WebhookErrorCode
  /** The HTTP status to answer with. */
  readonly status: 400 | 401
  /** For the developer who reads the log. */
  readonly hint: string

  constructor(code: WebhookErrorCode, hint: string) {
    super(`${code.toLowerCase().replaceAll('_', ' ')}: ${hint}`)
    this.code = code
    this.status = code === 'WEBHOOK_HEADERS' || code === 'WEBHOOK_BODY' ? 400 : 401
    this.hint = hint
    Object.defineProperty(this, brand, { value: true })
  }

  /** Like `instanceof`, but also true for errors of another copy of this package. With `code`, the code must match too. */
  static is(error: unknown, code?: WebhookErrorCode): error is WebhookError {
    return brand in Object(error) && (!code || Object(error).code === code)
  }
}

/** Node's `req.headers`, a plain object, or a `Headers`. */
export type WebhookHeaders =
  | { readonly [name: string]: string | readonly string[] | undefined }
  | { get(name: string): string | null }

export interface WebhookOptions {
  /** How old a message may be, and how far in the future, in seconds (default 300). */
  readonly toleranceSec?: number
  /** The clock, in milliseconds since 1970 (default `Date.now`). */
  readonly now?: () => number
}

const DEFAULT_TOLERANCE_SECONDS = 300
/** Of Standard Webhooks, and of the service. A shorter secret could be guessed from one message. */
const MIN_SECRET_BYTES = 24

/**
 * Verifies a webhook message by Standard Webhooks and resolves to its event. Pass `rawBody` as it was received, before any
 * parser. `secret` is the `whsec_…` of the webhook, or several while it is being replaced. Throws a `WebhookError` if the message
 * is refused, and an `AuthError` with `CONFIG_INVALID` if a secret is malformed or `rawBody` is not bytes or text.
 *
 * @example
 * ```ts
 * import { verifyWebhook } from '@gatehouse/sdk/webhooks'
 *
 * const event = await verifyWebhook(headers, rawBody, 'whsec_…')
 * if (event.event === 'user.registered') console.log(event.user.id)
 * ```
 */
export async function verifyWebhook(
  headers: WebhookHeaders,
  rawBody: string | Uint8Array | ArrayBuffer,
  secret: string | readonly string[],
  { toleranceSec = DEFAULT_TOLERANCE_SECONDS, now = Date.now }: WebhookOptions = {},
): Promise<WebhookEvent> {
  const keys = readSecrets(secret)
  const body = readBytes(rawBody)
  const id = readHeader(headers, 'webhook-id')
  const timestamp = readHeader(headers, 'webhook-timestamp')
  const signatures = readHeader(headers, 'webhook-signature')
  if (!/^\d{1,11}$/.test(timestamp)) throw new WebhookError('WEBHOOK_HEADERS', 'webhook-timestamp must be seconds since 1970')
  const age = Math.floor(now() / 1000) - Number(timestamp)
  // Written so that a clock that returns NaN refuses the message.
  if (!(Math.abs(age) <= toleranceSec))
    throw new WebhookError('WEBHOOK_TIMESTAMP', `sent ${age} s ago by the clock of this machine; ${toleranceSec} s are allowed`)

  const signed = concatenate(new TextEncoder().encode(`${id}.${timestamp}.`), body)
  const expected = await Promise.all(keys.map((key) => sign(key, signed)))
  const given = signatures.split(' ').flatMap((each) => (each.startsWith('v1,') ? [each.slice('v1,'.length)] : []))
  // Compares all with all, so that the time it takes reveals nothing about the secrets.
  const matches = expected.flatMap((right) => given.map((each) => isEqual(each, right)))
  if (!matches.includes(true))
    throw new WebhookError('WEBHOOK_SIGNATURE', 'use the secret of this webhook, and the raw body, before any parser')
  return parseEvent(body, id)
}

function readSecrets(secret: string | readonly string[]): Uint8Array<ArrayBuffer>[] {
  const secrets = [secret].flat()
  if (secrets.length === 0) throw invalid('secret is missing')
  return secrets.map((each: unknown) => {
    const [, encoded] = (typeof each === 'string' && /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(each)) || []
    if (encoded === undefined) throw invalid('secret must be "whsec_" and base64, as set by the admin of the app')
    const bytes = decodeBase64(encoded)
    if (bytes.length < MIN_SECRET_BYTES) throw invalid(`secret must have ${MIN_SECRET_BYTES} bytes or more, has ${bytes.length}`)
    return bytes
  })
}

function decodeBase64(encoded: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0))
  } catch {
    throw invalid('secret must be "whsec_" and base64, as set by the admin of the app')
  }
}

function readBytes(rawBody: unknown): Uint8Array {
  if (typeof rawBody === 'string') return new TextEncoder().encode(rawBody)
  if (rawBody instanceof Uint8Array) return rawBody
  if (rawBody instanceof ArrayBuffer) return new Uint8Array(rawBody)
  throw invalid('rawBody must be the bytes or the text as received; a parsed body has another signature')
}

function readHeader(headers: WebhookHeaders, name: string): string {
  const value = typeof headers.get === 'function' ? headers.get(name) : headerOf(headers, name)
  if (typeof value !== 'string' || value === '') throw new WebhookError('WEBHOOK_HEADERS', `${name} is missing`)
  return value
}

/** Finds a header in a plain object, ignoring the case of its name. */
function headerOf(headers: object, wanted: string): unknown {
  return Object.entries(headers).find(([name]) => name.toLowerCase() === wanted)?.[1]
}

function concatenate(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(first.length + second.length)
  both.set(first)
  both.set(second, first.length)
  return both
}

async function sign(secret: Uint8Array<ArrayBuffer>, message: Uint8Array<ArrayBuffer>): Promise<string> {
  const { subtle } = crypto
  const key = await subtle.importKey('raw', secret, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  return btoa(String.fromCharCode(...new Uint8Array(await subtle.sign('HMAC', key, message))))
}

/** Compares to the end even after a difference, so that the time it takes reveals nothing. */
function isEqual(given: string, right: string): boolean {
  let difference = given.length ^ right.length
  for (let i = 0; i < right.length; i += 1) difference |= given.charCodeAt(i) ^ right.charCodeAt(i)
  return difference === 0
}

function parseEvent(body: Uint8Array, id: string): WebhookEvent {
  try {
    const event: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
    if (isEvent(event, id)) return event
  } catch {
    // The message of `JSON.parse` would quote the body.
  }
  throw new WebhookError('WEBHOOK_BODY', 'it is signed, but is not a Gatehouse event: another sender has this secret')
}

/** The other members are not checked: the service has signed them. */
function isEvent(value: unknown, id: string): value is WebhookEvent {
  const { event, id: its }: { readonly [Name in keyof WebhookEvent]?: unknown } = Object(value)
  return typeof event === 'string' && its === id
}

function invalid(message: string): AuthError {
  return configInvalid(`verifyWebhook: ${message}`)
}
