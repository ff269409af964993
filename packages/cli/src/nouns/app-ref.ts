import { Failure } from '../command-line/exit-codes.ts'
import { positional } from '../command-line/options.ts'

/** The app that a command is about. */
export const appSubject = positional('CODE', 'Code or id of the app', { completes: 'apps' })

/** Checks the code or id of an app. Throws `invalid_app` if it could not be a single segment of a URL path. */
export function parseAppRef(typed: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9_-]*$/.test(typed)) return typed
  throw new Failure('invalid', `"${typed}" is not a valid code of an app`, {
    code: 'invalid_app',
    hint: 'kebab-case, such as web-shop, or the id of the app',
  })
}
