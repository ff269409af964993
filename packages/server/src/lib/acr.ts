/** The value of `acr` and `acr_values` for two factors or a passkey. */
export const mfa = 'mfa'
/** What `acr` says of every other sign-in. In OpenID Connect Core, it claims nothing. */
export const noClass = '0'
