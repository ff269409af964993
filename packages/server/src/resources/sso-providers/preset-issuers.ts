import type { SsoProvider } from '../../models/sso-provider.ts'

const google = 'https://accounts.google.com'

/** The known issuers, by the code of their provider. */
export const presetIssuers: Record<string, string> = { google }

/** Whether a provider is the preset `google`. Another issuer may use that code too. */
export function isGooglePreset({ code, issuer }: Pick<SsoProvider, 'code' | 'issuer'>): boolean {
  return code === 'google' && issuer === google
}
