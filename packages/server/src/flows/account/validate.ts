import { fieldError } from '../../errors.ts'
import { normalizeEmail } from '../../lib/email.ts'
import { MAX_NAME } from '../../lib/fields.ts'
import { canonicalLocale } from '../../lib/locale.ts'
import type { AccountForm } from './schema.ts'

/** The names and the locale of a form. What is empty is cleared. */
export function profileFields(form: AccountForm) {
  return { first_name: nameOf(form, 'first_name'), last_name: nameOf(form, 'last_name'), locale: localeOf(form) }
}

function nameOf(form: AccountForm, field: 'first_name' | 'last_name'): string | null {
  const name = form[field].trim()
  if (name.length > MAX_NAME) throw fieldError(field, 'too_long', `must have at most ${MAX_NAME} characters`)
  return name || null
}

function localeOf({ locale }: AccountForm): string | null {
  if (locale.trim() === '') return null
  const tag = canonicalLocale(locale)
  if (tag === undefined) throw fieldError('locale', 'invalid_value', 'must be a language tag of BCP 47')
  return tag
}

export function emailOf({ email: typed }: AccountForm): string {
  const email = normalizeEmail(typed)
  if (email === undefined) throw fieldError('email', 'invalid_value', 'must be an e-mail address')
  return email
}

/** The new password, which a page without a script asks for twice. */
export function newPasswordOf({ password, password_again: again }: AccountForm): string {
  if (password === '') throw fieldError('password', 'required', 'is required')
  if (again !== password) throw fieldError('password_again', 'invalid_value', 'does not match the first one')
  return password
}
