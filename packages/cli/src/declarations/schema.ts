/** Where in the file: `['apps', 0, 'webhooks', 1, 'url']`. */
export type Path = readonly (string | number)[]

/** Takes what is wrong there. */
export type Fault = (path: Path, message: string) => void

/** A value in the form in which the service keeps it. What comes back after a fault is nobody's: the file is refused. */
type Read<T> = (given: unknown, path: Path, fault: Fault) => T

export interface Field<T> {
  read: Read<T>
  /** What the field is when the file leaves it out, by the fields before it; without one it cannot be left out. */
  standard?: (entry: Record<string, unknown>) => T
  /** Null is a value of its own, not another way to leave the field out. */
  takesNull?: boolean
}

export type Fields<Entry> = { [Key in keyof Entry]-?: Field<Entry[Key]> }

export const mostEntries = 200
export const mostPermissions = 5_000

/** An object of these fields and no other. */
export function readEntry<Entry>(fields: Fields<Entry>, given: unknown, path: Path, fault: Fault): Entry {
  const entry: Record<string, unknown> = {}
  if (!isObject(given)) {
    fault(path, `must have the fields ${Object.keys(fields).join(', ')}`)
    return entry as Entry
  }
  for (const key of Object.keys(given)) if (!Object.hasOwn(fields, key)) fault([...path, key], 'is no field of it')
  for (const [key, { read, standard, takesNull }] of Object.entries<Field<unknown>>(fields)) {
    const value = Object.hasOwn(given, key) ? given[key] : undefined
    const isLeftOut = value === undefined || value === '' || (value === null && !takesNull)
    if (!isLeftOut) entry[key] = read(value, [...path, key], fault)
    else if (standard) entry[key] = standard(entry)
    else fault([...path, key], 'is required')
  }
  return entry as Entry
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A list of such entries. */
export function entries<Entry>(fields: Fields<Entry>, most = mostEntries): Read<Entry[]> {
  return listOf((given, path, fault) => readEntry(fields, given, path, fault), most)
}

export function listOf<T>(read: Read<T>, most = mostEntries): Read<T[]> {
  return (given, path, fault) => {
    if (!Array.isArray(given)) {
      fault(path, 'must be a list')
      return []
    }
    if (given.length > most) fault(path, `has more than ${most} entries`)
    return given.map((entry, index) => read(entry, [...path, index], fault))
  }
}

/** A list in which the service keeps each value once. */
export function setOf<T>(read: Read<T>, most = mostEntries): Read<T[]> {
  const readList = listOf(read, most)
  return (given, path, fault) => [...new Set(readList(given, path, fault))]
}

export function flag(given: unknown, path: Path, fault: Fault): boolean {
  if (typeof given !== 'boolean') fault(path, 'must be true or false')
  return given as boolean
}

export function oneOf<const Choice extends string>(...choices: Choice[]): Read<Choice> {
  return (given, path, fault) => {
    if (!choices.includes(given as Choice)) fault(path, `must be ${choices.join(' or ')}`)
    return given as Choice
  }
}

/** Text of at most so many characters; `faultOf` tells what else is wrong with it. */
export function textOf(most: number, faultOf: (text: string) => string | undefined = () => undefined): Read<string> {
  return (given, path, fault) => {
    if (typeof given !== 'string') {
      fault(path, 'must be text; a number or a date needs quotes')
      return ''
    }
    const wrong = given.length > most ? `has more than ${most} characters` : (unstorable(given) ?? faultOf(given))
    if (wrong !== undefined) fault(path, wrong)
    return given
  }
}

/** NUL, and halves of surrogate pairs. */
const unstorableForm = /\0|\p{Cs}/u

function unstorable(text: string): string | undefined {
  return unstorableForm.test(text) ? 'holds a character that cannot be stored' : undefined
}

export const name: Read<string> = (given, path, fault) => {
  const text = textOf(200)(typeof given === 'string' ? given.trim() : given, path, fault)
  if (given !== '' && text === '' && typeof given === 'string') fault(path, 'must not be blank')
  return text
}

export const text = textOf(2_000)

/** A code of at most 100 characters. */
export function codeOf(form: RegExp, message: string): Read<string> {
  return textOf(100, (code) => (form.test(code) ? undefined : message))
}

export const appCode = codeOf(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, 'must be kebab-case: a-z, 0-9 and single hyphens between them')
export const plainCode = codeOf(/^[a-z0-9_-]+$/, 'must be of a-z, 0-9, _ and -')
export const serviceCode = codeOf(/^[A-Za-z0-9][A-Za-z0-9._:-]*$/, 'must be of letters, digits, . _ : and -')

const part = '[a-z0-9_-]{1,100}'
const permissionForm = new RegExp(`^${part}:${part}$`)
export const permissionCode = textOf(201, (code) =>
  permissionForm.test(code) ? undefined : 'must be resource:action, each of a-z, 0-9, _ and -',
)

const foreignToUrls = /[\s\\\p{Cc}]/u

export const webUrl = textOf(2_000, (raw) => {
  const url = URL.parse(raw)
  if (!url || !/^https?:\/\/[^/]/i.test(raw) || foreignToUrls.test(raw)) return 'must be an absolute http or https URL'
  return url.username || url.password ? 'must not hold user info' : undefined
})

const privateScheme = /^[a-z][a-z0-9+-]*\.[a-z0-9+.-]*:/i

/** Refuses what is wrong at a glance; the service looks closer. */
export const redirectUrl = textOf(2_000, (rule) => {
  const star = rule.indexOf('*')
  if (star !== -1 && star !== rule.length - 1) return 'only one * is allowed, as the last character'
  const raw = star === -1 ? rule : rule.slice(0, -1)
  if (!/^https?:\/\/[^/?#]/i.test(raw) && !privateScheme.test(raw))
    return 'must be an https or http URL, or use a private scheme that holds a dot (com.example.app:/cb)'
  const url = URL.parse(raw)
  const isForeign = !url || foreignToUrls.test(raw) || raw.includes('#') || url.username !== '' || url.password !== ''
  return isForeign ? 'must be an absolute URL without user info, fragment, backslash or white space' : undefined
})

const webhookSecretForm = /^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/

/** Null clears the secret that the webhook has. */
export const webhookSecret: Read<string | null | undefined> = (given, path, fault) => {
  if (given !== null && !(typeof given === 'string' && webhookSecretForm.test(given)))
    fault(path, 'must be whsec_ and 24 to 64 bytes in base64, or null')
  return given as string | null
}
