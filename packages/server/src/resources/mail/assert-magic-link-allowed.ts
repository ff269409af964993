import { ApiError } from '../../errors.ts'
import type { App } from '../../models/app.ts'

/** An app that names the methods it takes must name this one. Throws `auth_method_not_allowed`. */
export function assertMagicLinkAllowed({ allowed_auth_methods: methods }: Pick<App, 'allowed_auth_methods'>): void {
  if (methods.length > 0 && !methods.includes('magic_link')) throw new ApiError('auth_method_not_allowed')
}
