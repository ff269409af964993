import { createHmac } from 'node:crypto'

/** Several webhooks of an app may have one name. Name and URL together identify a webhook, and its secret belongs to both. */
export function webhookKey({ name, url }: { name: string; url: string }): string {
  return JSON.stringify([name, url])
}

const secretPrefix = 'whsec_'

/** The `webhook-signature` of Standard Webhooks. It signs the id, the time in seconds, and the exact bytes of the body. */
export function signWebhook(secret: string, message: { id: string; timestamp: number; body: string }): string {
  const key = Buffer.from(secret.slice(secretPrefix.length), 'base64')
  const signed = `${message.id}.${message.timestamp}.${message.body}`
  return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`
}

const imfDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/

/** Reads a `Retry-After` header (seconds or an HTTP date) as milliseconds from now. Undefined if it is missing or malformed. */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  const text = header?.trim() ?? ''
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000
  const at = imfDate.test(text) ? Date.parse(text) : Number.NaN
  return Number.isFinite(at) ? Math.max(0, at - now) : undefined
}

/** Characters that make markup, links or mentions in Slack, Google Chat or Discord, and the look-alikes that replace them. */
const lookAlikes: Record<string, string> = {
  '<': '‹',
  '>': '›',
  '&': '＆',
  '*': '＊',
  _: '＿',
  '~': '～',
  '`': 'ˋ',
  '|': '｜',
  '[': '［',
  ']': '］',
  '(': '（',
  ')': '）',
  '\\': '＼',
  '/': '／',
  '#': '＃',
  '@': '＠',
  ':': '：',
}
const marks = /[<>&*_~`|[\]()\\/#@:]/g
/** Invisible characters and those that reorder the line: controls, bidi marks, zero-width and other ignorable ones, line ends. */
const unseen = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]+/gu
const mentions = /@(?=everyone|here|channel)/gi

/**
 * Makes user-supplied text safe for a chat message: one line without mentions, links or markup for any of the chat services. Dots
 * inside words are replaced by look-alikes, so they form no domain.
 */
export function plainChatText(text: string): string {
  return oneLine(text)
    .replace(marks, (mark) => lookAlikes[mark] ?? '')
    .replace(/\.(?=\S)/g, '․')
}

/** Like `plainChatText`, for an e-mail address. It can still be copied, unless a chat service would read more into it. */
export function plainChatEmail(email: string): string {
  return oneLine(email)
    .replace(marks, (mark, at: number, whole: string) => (isPlainInEmail(mark, at, whole) ? mark : (lookAlikes[mark] ?? '')))
    .replace(mentions, '＠')
}

function isPlainInEmail(mark: string, at: number, whole: string): boolean {
  if (mark === '@') return true
  return mark === '_' && /[a-z0-9]/i.test(whole[at - 1] ?? '') && /[a-z0-9]/i.test(whole[at + 1] ?? '')
}

function oneLine(text: string): string {
  return text.replace(unseen, ' ').replace(/\s+/g, ' ').trim()
}
