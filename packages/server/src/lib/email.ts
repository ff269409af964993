import { domainToASCII } from 'node:url'

const maxBytes = 254
const maxLocalBytes = 64
/** Control characters, white space, zero-width and bidirectional marks: none may hide in an address. */
const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Z}\p{Default_Ignorable_Code_Point}]/u
const localForm = /^[^@"(),:;<>[\]\\.]+(?:\.[^@"(),:;<>[\]\\.]+)*$/u
/** What a domain must not contain. `domainToASCII` reads the host of a URL and would cut it at the first `/`, `?`, `#` or `\`. */
const foreignToDomains = /[^a-z0-9.\u0080-\u{10ffff}-]/u
const domainForm = /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * The one form in which an e-mail address is stored, compared and limited: trimmed, NFKC, lower case, the domain in punycode. It
 * keeps plus signs and dots, since only the mail server knows whether they reach one mailbox. Undefined if the text is not an
 * address.
 */
export function normalizeEmail(raw: string): string | undefined {
  // Check the length first, so that a caller cannot make the service normalize megabytes of text.
  if (raw.length > 4 * maxBytes) return undefined
  const text = folded(raw)
  const at = text.indexOf('@')
  if (at < 1 || at !== text.lastIndexOf('@') || invisible.test(text)) return undefined
  const local = text.slice(0, at)
  const domain = asciiDomain(text.slice(at + 1))
  if (!localForm.test(local) || Buffer.byteLength(local) > maxLocalBytes || !domainForm.test(domain)) return undefined
  const email = `${local}@${domain}`
  return Buffer.byteLength(email) <= maxBytes ? email : undefined
}

/** A lower-case domain in punycode. Empty if the text is not a domain. */
function asciiDomain(domain: string): string {
  if (foreignToDomains.test(domain) || invisible.test(domain)) return ''
  // ASCII stays unchanged: the URL parser would turn a number into an IPv4 address.
  return /[^\x20-\x7e]/.test(domain) ? domainToASCII(domain) : domain
}

/** An entry of `allowed_email_domains` (`corp.com`, `*.corp.com`) in the form that addresses are compared in, or undefined. */
export function normalizeDomainRule(raw: string): string | undefined {
  const text = folded(raw)
  const isWildcard = text.startsWith('*.')
  const domain = validDomain(isWildcard ? text.slice(2) : text)
  return domain !== undefined && isWildcard ? `*.${domain}` : domain
}

/** One domain in the form that addresses have, or undefined. */
export function normalizeDomain(raw: string): string | undefined {
  return validDomain(folded(raw))
}

function folded(raw: string): string {
  return raw.trim().normalize('NFKC').toLowerCase()
}

function validDomain(text: string): string | undefined {
  const domain = asciiDomain(text)
  return domainForm.test(domain) ? domain : undefined
}

/** The domain of a normalized address. */
export function domainOf(email: string): string {
  return email.slice(email.indexOf('@') + 1)
}

/** Whether a normalized address falls under one of the rules; `*.corp.com` takes every subdomain but not `corp.com` itself. */
export function isEmailDomainAllowed(email: string, rules: readonly string[]): boolean {
  const domain = domainOf(email)
  return rules.some((rule) => (rule.startsWith('*.') ? domain.endsWith(rule.slice(1)) : domain === rule))
}
