import { encode } from 'uqr'
import { type Html, html, type PageView } from '../lib/html.ts'
import { alert, codeField, type FormRefusal, field, stepForm } from './fields.ts'
import type { PageTexts } from './texts/page-texts.ts'

type Part = Pick<PageView, 'title' | 'body'>

/** A form of a page: where it posts to, and the hidden values that it sends. */
interface FormOfPage {
  action: string
  hidden: Readonly<Record<string, string>>
}

/** A second factor that is set up and waits for its first code. */
interface PendingFactor {
  /** Base32. */
  secret: string
  /** The `otpauth:` URL of the seed. */
  url: string
}

/**
 * Shows the seed of an authenticator app, as a QR code and as text, and asks for the first code (`code`). `before` stands above
 * all, `after` below the form.
 *
 *     enrolmentView(texts, { pending, form: { action, hidden: { ...hiddenFields, step: 'enrol' } }, refusal })
 */
export function enrolmentView(
  texts: PageTexts,
  {
    pending: { secret, url },
    form,
    fault,
    refusal,
    before,
    after,
  }: {
    pending: PendingFactor
    form: FormOfPage
    /** What is wrong, apart from the field. */
    fault?: string | undefined
    refusal?: FormRefusal | undefined
    before?: Html | undefined
    after?: Html | undefined
  },
): Part {
  const { title, scan, picture, secret: secretLabel, code, button } = texts.enrolment
  const codeOfApp = {
    name: 'code',
    label: code,
    type: 'text',
    autocomplete: 'one-time-code',
    hint: texts.hints.mailCode,
  } as const
  return {
    title,
    body: html`${before}<p>${scan}</p>
${qrCode(url, picture)}${codeField(secretLabel, grouped(secret), { id: 'secret', rows: 2 })}${stepForm(
  { ...form, button },
  alert(fault),
  field(texts, codeOfApp, refusal && withFaultOfAppCode(refusal)),
)}${after}`,
  }
}

/** Shows the recovery codes, which are shown only once. `onward` is a button that goes on. */
export function recoveryCodesView(texts: PageTexts, { codes, onward }: { codes: readonly string[]; onward: Html }): Part {
  const { title, text, label } = texts.recoveryCodes
  return {
    title,
    body: html`<p>${text}</p>
${codeField(label, codes.join('\n'), { id: 'recovery-codes', rows: codes.length })}${onward}`,
  }
}

function withFaultOfAppCode(refusal: FormRefusal): FormRefusal {
  if (refusal.code !== 'invalid_two_factor_code') return refusal
  return { ...refusal, faults: { ...refusal.faults, code: 'wrong_or_used' }, focus: 'code' }
}

/** Four characters at a time are easier to type. Authenticator apps ignore the spaces. */
function grouped(secret: string): string {
  return secret.replace(/.{4}(?=.)/g, '$& ')
}

/** Black on white in both color schemes, since not every scanner reads the reverse. */
function qrCode(text: string, label: string): Html {
  const { data, size } = encode(text, { border: 4 })
  const dark = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])))
  return html`<svg class="qr" role="img" aria-label="${label}" viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges">
<path fill="#fff" d="M0 0h${size}v${size}H0z"/><path fill="#000" d="${dark.join('')}"/>
</svg>
`
}
