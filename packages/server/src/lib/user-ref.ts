import { normalizeEmail } from './email.ts'
import { isUuid } from './uuid.ts'

/** How a person names a user: by id, by e-mail, or by `email@@pool` where several users have the e-mail. */
export type UserRef = { id: string } | { email: string; pool: string | undefined }

/** Undefined if the text cannot name a user. */
export function parseUserRef(typed: string): UserRef | undefined {
  if (isUuid(typed)) return { id: typed.toLowerCase() }
  const separator = typed.lastIndexOf('@@')
  const email = normalizeEmail(separator === -1 ? typed : typed.slice(0, separator))
  const pool = separator === -1 ? undefined : typed.slice(separator + 2)
  return email === undefined || pool === '' ? undefined : { email, pool }
}
