/** The methods that an app may name in `allowed_auth_methods` whether or not a provider of that code is set up. */
export const builtInAuthMethods: readonly string[] = ['password', 'magic_link', 'email_code', 'passkey', 'google']

/** Codes that no provider may have: sessions and policies name these methods. */
export const reservedProviderCodes: readonly string[] = ['password', 'magic_link', 'email_code', 'passkey']

const forExisting = ['magic_link', 'email_code', 'passkey']

/** A mail or a passkey only lets in users who have an account. */
export function canRegister(method: string): boolean {
  return !forExisting.includes(method)
}
