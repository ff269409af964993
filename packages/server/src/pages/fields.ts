import { ApiError, type ErrorCode } from '../errors.ts'
import { shownName } from '../lib/brand.ts'
import { type Html, html, type PagePlace, type PageView } from '../lib/html.ts'
import { type FaultWord, faultsIn, limitOfFault } from './texts/faults.ts'
import type { PageTexts } from './texts/page-texts.ts'

/** A token, and the path of the page that takes it. */
export interface PageToken {
  path: string
  token: string
}

interface Field {
  /** Default: the name. For a page with several fields of a name. */
  id?: string
  name: string
  label: string
  type: 'text' | 'email' | 'password'
  autocomplete: string
  value?: string | undefined
  hint?: string
  isOptional?: boolean
  isFixed?: boolean
}

/**
 * A form that posts to its own page. The URL is relative, for a service that a proxy serves under a path. `after` follows the
 * button.
 */
export function form(
  { path, token, after, isHarmful = false }: PageToken & { after?: Html | undefined; isHarmful?: boolean },
  button: string,
  ...parts: readonly (Html | undefined)[]
): Html {
  return html`<form method="post" action="${path.slice(1)}">
<input type="hidden" name="token" value="${token}">
${parts}<button type="submit"${isHarmful && html` class="harmful"`}>${button}</button>
${after}</form>`
}

/** A form of the sign-in page: hidden values, fields and a button. `after` follows the button. */
export function stepForm(
  {
    action,
    hidden,
    button,
    isQuiet = false,
    isHarmful = false,
    after,
  }: {
    action: string
    hidden: Readonly<Record<string, string>>
    button: string
    isQuiet?: boolean
    isHarmful?: boolean
    after?: Html | undefined
  },
  ...parts: readonly (Html | undefined)[]
): Html {
  const values = Object.entries(hidden).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">\n`)
  return html`<form method="post" action="${action}">
${values}${parts}<button type="submit"${(isQuiet || isHarmful) && html` class="${isHarmful ? 'harmful' : 'quiet'}"`}>${button}</button>
${after}</form>
`
}

/** For the developer of an app, outside production: in English, as the log is. */
export function toDeveloper(text: string | undefined): Html | undefined {
  return text === undefined ? undefined : html`<p lang="en"><small>To the developer: ${text}</small></p>\n`
}

export function checkbox(name: string, label: string, isChecked: boolean): Html {
  return html`<p class="check"><input type="checkbox" id="${name}" name="${name}" value="yes"${isChecked && html` checked`}><label for="${name}">${label}</label></p>\n`
}

/** One of several, the first of which is chosen at the start. */
export function choice(name: string, legend: string, options: readonly { value: string; label: string }[]): Html {
  const radios = options.map(
    ({ value, label }, index) =>
      html`<p class="check"><input type="radio" id="${name}-${index}" name="${name}" value="${value}"${index === 0 && html` checked`}><label for="${name}-${index}"><bdi>${label}</bdi></label></p>\n`,
  )
  return html`<fieldset><legend>${legend}</legend>\n${radios}</fieldset>\n`
}

/** One of several that do not all have to be seen. */
export function select(
  { name, label, value }: { name: string; label: string; value: string },
  options: readonly { value: string; label: string }[],
): Html {
  const listed = options.map(
    (option) => html`<option value="${option.value}"${option.value === value && html` selected`}>${option.label}</option>\n`,
  )
  return html`<div class="field">
<label for="${name}">${label}</label>
<select id="${name}" name="${name}">
${listed}</select>
</div>
`
}

/** A field with its label, hint and fault. Screen readers read all of them with the field. */
export function field(
  texts: PageTexts,
  { id, name, label, type, autocomplete, value, hint, isOptional = false, isFixed = false }: Field,
  refusal?: FormRefusal,
): Html {
  const key = id ?? name
  const fault = textOfFault(texts, label, refusal?.faults[name])
  const notes = [...(hint ? [`${key}-hint`] : []), ...(fault ? [`${key}-fault`] : [])]
  const input = attributes({
    id: key,
    name,
    type,
    value,
    autocomplete,
    spellcheck: type === 'text' ? undefined : 'false',
    required: !isOptional && !isFixed,
    readonly: isFixed,
    'aria-describedby': notes.join(' ') || undefined,
    'aria-invalid': fault && 'true',
    autofocus: refusal?.focus === name,
  })
  return html`<div class="field">
<label for="${key}">${label}${isOptional && html` <span class="optional">${texts.optional}</span>`}</label>
${hint && html`<p class="hint" id="${key}-hint">${hint}</p>\n`}${fault && html`<p class="fault" id="${key}-fault" role="alert">${fault}</p>\n`}<input${input}>
</div>
`
}

/** A sentence without its full stop. */
export function textOfFault(texts: PageTexts, label: string, fault: FaultWord | undefined): string | undefined {
  return fault && texts.faults[fault](label, limitOfFault[fault] ?? 0)
}

function attributes(values: Record<string, string | boolean | undefined>): readonly Html[] {
  return Object.entries(values).flatMap(([name, value]) => {
    if (value === undefined || value === false) return []
    return [value === true ? html` ${name}` : html` ${name}="${value}"`]
  })
}

/** Shown once the account turns out to have a second factor. */
export function secondFactorField(texts: PageTexts, refusal: FormRefusal | undefined): Html | undefined {
  if (refusal === undefined || !/two_factor/.test(refusal.code)) return undefined
  return field(texts, twoFactorCode(texts), withFaultOfCode(refusal))
}

export function twoFactorCode({ fields, hints }: PageTexts): Field {
  const code = { name: 'two_factor_code', type: 'text', autocomplete: 'one-time-code' } as const
  return { ...code, label: fields.twoFactorCode, hint: hints.twoFactorCode }
}

/** What is wrong with the form as a whole. */
export function alert(text: string | undefined): Html | undefined {
  return text === undefined ? undefined : html`<p class="alert" role="alert">${text}</p>\n`
}

/** What was done. */
export function notice(text: string | undefined): Html | undefined {
  return text === undefined ? undefined : html`<p class="notice" role="status">${text}</p>\n`
}

/**
 * Text to copy. It is a field so that it can be reached and selected with the keyboard, and has lines so that none of it is hidden.
 */
export function codeField(label: string, value: string, { id = 'code', rows = 3 }: { id?: string; rows?: number } = {}): Html {
  return html`<div class="field">
<label for="${id}">${label}</label>
<textarea class="code" id="${id}" rows="${rows}" autocomplete="off" spellcheck="false" readonly>${value}</textarea>
</div>
`
}

/** A form that is shown again has the status of its refusal. */
export function headOf(
  { language }: PageTexts,
  refusal: FormRefusal | undefined,
  title: string,
): Pick<PageView, 'status' | 'language' | 'title' | 'retryAfter'> {
  return { status: refusal?.status ?? 200, language, title, retryAfter: refusal?.retryAfter }
}

/** The name as a page may show it, or the code if nothing of the name is visible. */
export function nameOf({ name, code }: { name: string; code: string }): string {
  return shownName(name) || code
}

/** A provider has no name of its own. */
export function providerName(code: string): string {
  return code
    .split(/[-_.]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join(' ')
}

/** What a page that ends somewhere offers: the app, if it is known where that is. */
export function wayOn(texts: PageTexts, place: PagePlace | undefined): Html | undefined {
  return place?.home ? html`<p><a class="button" href="${place.home}">${texts.goTo(shown(nameOf(place)))}</a></p>\n` : undefined
}

/** Text that others chose, isolated so that it cannot reverse the direction of the sentence around it. */
export function shown(text: string): Html {
  return html`<bdi>${text}</bdi>`
}

/** Why a form is shown again. */
export interface FormRefusal {
  status: number
  code: ErrorCode
  faults: Readonly<Record<string, FaultWord>>
  /** The field to focus. */
  focus: string | undefined
  /** Seconds. */
  retryAfter: number | undefined
}

/** After these the user must enter a password again, since a page never sends it back. */
const aboutCredentials: ReadonlySet<ErrorCode> = new Set([
  'invalid_credentials',
  'two_factor_required',
  'invalid_two_factor_code',
])

/**
 * Turns an error that the user can correct into a refusal of the form. Rethrows all others: a link that does not work, and server
 * errors.
 */
export function refusalOf(error: unknown): FormRefusal {
  if (!(error instanceof ApiError) || error.status >= 500) throw error
  if (error.code === 'invalid_token' || error.code === 'invalid_invitation') throw error
  const { code, status, retryAfter } = error
  const faults = faultsIn(error.errors)
  const focus = aboutCredentials.has(code) ? 'password' : Object.keys(faults)[0]
  return { status, code, faults, focus, retryAfter }
}

/** Adds the fault of the single field that the refusal's code is about, if there is one. */
export function withFaultOfCode(refusal: FormRefusal): FormRefusal {
  return { ...refusal, faults: { ...refusal.faults, ...faultOfCode(refusal) } }
}

function faultOfCode({ code }: FormRefusal): Record<string, FaultWord> {
  if (code === 'invalid_credentials') return { password: 'wrong_for_account' }
  if (code === 'invalid_two_factor_code') return { two_factor_code: 'wrong_or_used' }
  return {}
}

/** What to show for a code that is not about a single field. */
export function generalFault({ refusals }: PageTexts, refusal: FormRefusal | undefined, app: string): string | undefined {
  if (refusal === undefined) return undefined
  const minutes = minutesIn(refusal.retryAfter)
  switch (refusal.code) {
    case 'validation_failed':
    case 'invalid_credentials':
      return undefined
    case 'two_factor_required':
      return refusals.twoFactorRequired
    case 'two_factor_enrollment_required':
      return refusals.enrol(app)
    case 'second_factor_not_shown':
      return refusals.passkeyOnly(app)
    case 'invalid_two_factor_code':
      return refusals.anotherTwoFactorCode
    case 'account_locked':
      return refusals.locked(minutes)
    case 'rate_limited':
      return refusals.limited(minutes)
    case 'account_suspended':
      return refusals.suspended(app)
    case 'app_access_denied':
      return refusals.noAccess(app)
    case 'email_domain_not_allowed':
      return refusals.domain(app)
    default:
      return refusals.other
  }
}

/** A day as a reader writes it. */
export function dayOf({ locale }: PageTexts, ms: number): string {
  return new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeZone: 'UTC' }).format(ms)
}

function minutesIn(seconds = 60): number {
  return Math.max(1, Math.ceil(seconds / 60))
}
