import { z } from 'zod'

export const mostEntries = 200
export const mostPermissions = 5_000

/** The messages for a missing value and for one of the wrong type. */
function said(message: string) {
  return { error: ({ input }: { input?: unknown }) => (input === undefined ? 'is required' : message) }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** An object of exactly these fields. Leaves out empty fields, and null where the field does not allow it. */
export function entry<Shape extends z.core.$ZodShape & Record<string, z.ZodType>>(shape: Shape) {
  const isLeftOut = (key: string, value: unknown) =>
    Object.hasOwn(shape, key) && (value === '' || (value === null && !shape[key]?.safeParse(null).success))
  const withoutBlanks = (given: unknown) =>
    isObject(given) ? Object.fromEntries(Object.entries(given).filter(([key, value]) => !isLeftOut(key, value))) : given
  const fields = z.strictObject(shape, { error: `must have the fields ${Object.keys(shape).join(', ')}` })
  return z.preprocess(withoutBlanks, fields)
}

export function listOf<Element extends z.ZodType>(element: Element, most = mostEntries) {
  return z.array(element, said('must be a list')).max(most, `has more than ${most} entries`)
}

/** A list that the service treats as a set: duplicates are removed. */
export function setOf<Element extends z.ZodType>(element: Element, most = mostEntries) {
  return listOf(element, most).transform((list) => [...new Set(list)])
}

export const flag = z.boolean(said('must be true or false'))

export function oneOf<const Choice extends string>(...choices: Choice[]) {
  return z.enum(choices, said(`must be ${choices.join(' or ')}`))
}

/** NUL, and lone surrogates. */
const unstorableForm = /\0|\p{Cs}/u

const plainText = z.string(said('must be text; a number or a date needs quotes'))

/** Reports at most one fault: the length, a character that cannot be stored, or what `faultOf` finds. */
function check(most: number, faultOf: (text: string) => string | undefined) {
  return (text: string, context: z.RefinementCtx) => {
    const isUnstorable = unstorableForm.test(text) && 'contains a character that cannot be stored'
    const fault = text.length > most ? `has more than ${most} characters` : isUnstorable || faultOf(text)
    if (fault) context.addIssue(fault)
  }
}

export function textOf(most: number, faultOf: (text: string) => string | undefined = () => undefined) {
  return plainText.superRefine(check(most, faultOf))
}

export const name = plainText.trim().superRefine(check(200, (text) => (text === '' ? 'must not be blank' : undefined)))

export const text = textOf(2_000)

/** A code of at most 100 characters. */
function codeOf(form: RegExp, message: string) {
  return textOf(100, (code) => (form.test(code) ? undefined : message))
}

export const appCode = codeOf(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, 'must be kebab-case: a-z, 0-9 and single hyphens between them')
export const plainCode = codeOf(/^[a-z0-9_-]+$/, 'must consist of a-z, 0-9, _ and -')
/** The name of a service or of a linked app, which need not exist yet. */
export const stableCode = textOf(200, (code) => {
  if (code === '') return 'must not be empty'
  if (code !== code.trim()) return 'must not begin or end with a blank'
  return /[\p{Cc}\p{Zl}\p{Zp}]/u.test(code) ? 'must not contain control characters' : undefined
})

export const permissionForm = /^[A-Za-z0-9._*/-]+:[A-Za-z0-9._*/:-]+$/
export const permissionFault = 'must be resource:action, with letters, digits, . _ * / and -; the action may contain colons'
export const permissionCode = textOf(201, (code) => (permissionForm.test(code) ? undefined : permissionFault))

const foreignToUrls = /[\s\\\p{Cc}]/u

export const webUrl = textOf(2_000, (raw) => {
  const url = URL.parse(raw)
  if (!url || !/^https?:\/\/[^/]/i.test(raw) || foreignToUrls.test(raw)) return 'must be an absolute http or https URL'
  return url.username || url.password ? 'must not contain user info' : undefined
})

const privateScheme = /^[a-z][a-z0-9+-]*\.[a-z0-9+.-]*:/i

/** Refuses obvious mistakes; the service checks the rest. */
export const redirectUrl = textOf(2_000, (rule) => {
  const star = rule.indexOf('*')
  if (star !== -1 && star !== rule.length - 1) return 'only one * is allowed, as the last character'
  const raw = star === -1 ? rule : rule.slice(0, -1)
  if (!/^https?:\/\/[^/?#]/i.test(raw) && !privateScheme.test(raw))
    return 'must be an https or http URL, or use a private scheme that contains a dot (com.example.app:/cb)'
  const url = URL.parse(raw)
  const isForeign = !url || foreignToUrls.test(raw) || raw.includes('#') || url.username !== '' || url.password !== ''
  return isForeign ? 'must be an absolute URL without user info, fragment, backslash or white space' : undefined
})

const webhookSecretFault = 'must be whsec_ and 24 to 64 bytes in base64, or null'

/** Null clears the secret that the webhook has. */
export const webhookSecret = z
  .string(webhookSecretFault)
  .regex(/^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/, webhookSecretFault)
  .nullable()
