import { type Html, html } from '../../lib/html.ts'
import type { PageView } from '../../lib/page-view.ts'
import { shownName } from '../../lib/shown-name.ts'
import { type FormRefusal, withFaultOfCode } from './refusal.ts'

/** A token, and the path of the page that takes it. */
export interface PageToken {
  path: string
  token: string
}

export interface Field {
  name: string
  label: string
  type: 'text' | 'email' | 'password'
  autocomplete: string
  value?: string
  hint?: string
  isOptional?: boolean
  isFixed?: boolean
}

/**
 * A form that posts to its own page. The URL is relative, for a service that a proxy serves under a path. `after` follows the
 * button.
 */
export function form(
  { path, token, after }: PageToken & { after?: Html | undefined },
  button: string,
  ...parts: readonly (Html | undefined)[]
): Html {
  return html`<form method="post" action="${path.slice(1)}">
<input type="hidden" name="token" value="${token}">
${parts}<button type="submit">${button}</button>
${after}</form>`
}

/** A field with its label, hint and fault. Screen readers read all of them with the field. */
export function field(
  { name, label, type, autocomplete, value, hint, isOptional = false, isFixed = false }: Field,
  refusal?: FormRefusal,
): Html {
  const fault = refusal?.faults[name]
  const notes = [...(hint ? [`${name}-hint`] : []), ...(fault ? [`${name}-fault`] : [])]
  const input = attributes({
    id: name,
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
<label for="${name}">${label}${isOptional && html` <span class="optional">(optional)</span>`}</label>
${hint && html`<p class="hint" id="${name}-hint">${hint}</p>\n`}${fault && html`<p class="fault" id="${name}-fault" role="alert">${label} ${fault}</p>\n`}<input${input}>
</div>
`
}

function attributes(values: Record<string, string | boolean | undefined>): readonly Html[] {
  return Object.entries(values).flatMap(([name, value]) => {
    if (value === undefined || value === false) return []
    return [value === true ? html` ${name}` : html` ${name}="${value}"`]
  })
}

/** Shown once the account turns out to have a second factor. */
export function secondFactorField(refusal: FormRefusal | undefined): Html | undefined {
  if (refusal === undefined || !/two_factor/.test(refusal.code)) return undefined
  const code = { name: 'two_factor_code', label: 'Two-factor code', type: 'text', autocomplete: 'one-time-code' } as const
  const hint = 'From your authenticator app, or one of your recovery codes.'
  return field({ ...code, hint }, withFaultOfCode(refusal))
}

/** What is wrong with the form as a whole. */
export function alert(text: string | undefined): Html | undefined {
  return text === undefined ? undefined : html`<p class="alert" role="alert">${text}</p>\n`
}

/** Text to copy. It is a field so that it can be reached and selected with the keyboard. */
export function codeField(label: string, value: string): Html {
  return html`<div class="field">
<label for="code">${label}</label>
<input class="code" id="code" type="text" value="${value}" autocomplete="off" spellcheck="false" readonly>
</div>
`
}

/** A form that is shown again has the status of its refusal. */
export function headOf(
  refusal: FormRefusal | undefined,
  title: string,
): Pick<PageView, 'status' | 'errorCode' | 'title' | 'retryAfter'> {
  return { status: refusal?.status ?? 200, errorCode: refusal?.code, title, retryAfter: refusal?.retryAfter }
}

/** The name as a page may show it, or the code if nothing of the name is visible. */
export function nameOf({ name, code }: { name: string; code: string }): string {
  return shownName(name) || code
}

/** Text that others chose, isolated so that it cannot reverse the direction of the sentence around it. */
export function shown(text: string): Html {
  return html`<bdi>${text}</bdi>`
}
