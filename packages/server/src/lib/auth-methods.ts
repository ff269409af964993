/** The methods that an app may name in `allowed_auth_methods` whether or not a provider of that code is set up. */
export const builtInAuthMethods: readonly string[] = ['password', 'magic_link', 'passkey', 'google']

/** Codes that no provider may have: sessions and policies name these methods. */
export const reservedProviderCodes: readonly string[] = ['password', 'magic_link', 'passkey']
