const controlOrSpace = /[\p{Cc}\p{Z}\\]/u
/**
 * `.` and `..`, also if the dots or the slashes beside them are percent-encoded, or a parameter follows (`..;x=1`). A server
 * behind this URL may decode them, or cut parameters, before it resolves the path.
 */
const dotSegment = /(?:^|\/|%2f|%5c)(?:\.|%2e){1,2}(?:\/|%2f|%5c|;|%3b|$)/i
/** URL parsers repair `https:host` and `https:///host`. Here such a text is not a URL. */
const incompleteWebUrl = /^https?:(?!\/\/[^/?#])/i
const webOrigin = /^https?:\/\/[^/?#]+\//i
const privateScheme = /^[a-z][a-z0-9+-]*\.[a-z0-9+.-]*:/i

function isWellFormed(url: string): boolean {
  if (controlOrSpace.test(url) || url.includes('#') || incompleteWebUrl.test(url)) return false
  const parsed = URL.parse(url)
  if (parsed?.username !== '' || parsed.password !== '' || /^https?:\/\/[^/?#]*@/i.test(url)) return false
  const [path = ''] = url.replace(/^[^:]+:(?:\/\/[^/?#]*)?/, '').split('?')
  return !dotSegment.test(decodedOnce(path))
}

/** Decodes percent signs that were encoded any number of times: `%252e` becomes the `%2e` that the next decoder would see. */
function decodedOnce(path: string): string {
  return path.replace(/%(?:25)+/g, '%')
}

/** Why an element of `allowed_redirect_urls` is refused. Undefined if it is allowed. */
export function redirectRuleFault(rule: string): string | undefined {
  const stars = rule.split('*').length - 1
  const url = stars > 0 ? rule.slice(0, -1) : rule
  if (/^https?:/i.test(rule)) {
    if (stars > 1 || (stars === 1 && !rule.endsWith('*'))) return 'only one * is allowed, as the last character'
    if (stars === 1 && !webOrigin.test(url)) return 'a * must come after the slash that ends the origin'
  } else {
    if (!privateScheme.test(rule))
      return 'must be an https or http URL, or use a private scheme that contains a dot (com.example.app:/cb)'
    if (stars > 0) return 'a private scheme cannot have a *'
  }
  return isWellFormed(url)
    ? undefined
    : 'must be an absolute URL without user info, fragment, backslash, white space or dot segments'
}

/**
 * Whether a client's redirect URL is allowed: raw strings are compared, so a trailing slash makes a difference; a
 * rule that ends in `*` allows its prefix. A URL that two parsers could read in two ways never matches.
 */
export function matchesRedirectUrl(candidate: string, rules: readonly string[]): boolean {
  if (!isWellFormed(candidate)) return false
  return rules.some((rule) => (rule.endsWith('*') ? candidate.startsWith(rule.slice(0, -1)) : candidate === rule))
}

const loopbackWithPort = /^(http:\/\/(?:127\.0\.0\.1|\[::1\])):\d{1,5}(?=[/?]|$)/

/**
 * Whether an authorization request may name this URL: it equals a rule without `*`, character by character. Of a loopback address
 * any port is accepted if the rule names none, since a program on the user's machine takes a port that is free (RFC 8252).
 */
export function isExactRedirectUrl(candidate: string, rules: readonly string[]): boolean {
  if (!isWellFormed(candidate)) return false
  const exact = rules.filter((rule) => !rule.endsWith('*'))
  return exact.includes(candidate) || exact.includes(candidate.replace(loopbackWithPort, '$1'))
}

/** The query parameters that an answer adds. If one is already there, a client could read the wrong one. */
export const answerMembers = ['code', 'state', 'iss', 'error', 'error_description'] as const

export function hasAnswerMember(url: string): boolean {
  const { searchParams } = new URL(url)
  return answerMembers.some((name) => searchParams.has(name))
}

/** A redirect URL, as it was given, with an answer in its query. Members that are undefined are left out. */
export function withAnswer(url: string, answer: Partial<Record<(typeof answerMembers)[number], string | undefined>>): string {
  const ascii = /^[\x21-\x7e]*$/.test(url) ? url : new URL(url).href
  const query = new URLSearchParams()
  for (const name of answerMembers) if (answer[name] !== undefined) query.append(name, answer[name])
  return `${ascii}${ascii.includes('?') ? '&' : '?'}${query}`
}
