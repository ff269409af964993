import { z } from 'zod'

/** A field as the form sends it. A missing or repeated field counts as empty and is validated as such. */
const sent = z.string().catch('')

export const accountQuery = z.object({
  app: sent.meta({ description: 'Code of the app whose users sign in here' }),
  return_to: sent.meta({
    description: 'Where the page leads back to: a redirect URL, without `*`, of an app that the person can enter',
  }),
  said: sent.meta({ description: 'Set by the page itself' }),
})
export type AccountPageQuery = z.output<typeof accountQuery>

/** What leads back from a provider. */
export const connectionQuery = z.object({
  state: sent.meta({ description: 'The state that the provider gave back' }),
  code: sent.meta({ description: 'Stands for the answer of the provider' }),
  error: sent.meta({ description: '`access_denied`, `temporarily_unavailable` or `server_error`' }),
})
export type ConnectionQuery = z.output<typeof connectionQuery>

/** Every form of the account page. A section reads the fields that it shows. */
export const accountForm = z.object({
  field: sent,
  app: sent,
  return_to: sent,
  step: sent,
  id: sent,
  name: sent,
  first_name: sent,
  last_name: sent,
  locale: sent,
  email: sent,
  token: sent,
  password: sent,
  password_again: sent,
  code: sent,
  two_factor_code: sent,
  confirmed: sent,
  /** The answer of `navigator.credentials.create` or `get`, as JSON, and the sealed challenge. */
  passkey: sent,
  passkey_challenge: sent,
})
export type AccountForm = z.output<typeof accountForm>

/** The document of `GET /auth/me/export`. */
export const downloadedData = z.looseObject({ format: z.literal('gatehouse-user-export'), version: z.literal(1) })
