import { z } from 'zod'
import { optionalAppCode, optionalTwoFactorCode, proofFields } from '../../lib/entry-fields.ts'
import { authMethodCode, MAX_TEXT, readAs, text } from '../../lib/fields.ts'
import { identityRecord, tokenAnswer } from '../../lib/records.ts'

export const ssoParams = z.object({ provider: authMethodCode.meta({ description: 'Code of the provider' }) })

/** With these, a client recognizes its answer and proves that the answer is its own. */
const clientFields = {
  redirect_url: text.min(1).meta({ description: 'One of the `allowed_redirect_urls` of the app' }),
  code_challenge: z
    .string()
    .regex(/^[A-Za-z0-9_-]{43}$/, 'must be the SHA-256 of the verifier, in base64url')
    .meta({ description: 'PKCE, S256' }),
  code_challenge_method: z
    .string()
    .regex(/^S256$/, 'must be S256')
    .optional(),
  state: z.string().min(1).max(500).meta({ description: 'Returned unchanged' }),
}
export type ClientInput = Pick<StartInput, keyof typeof clientFields>

/** The query with which a client sends a browser here. */
export const startQuery = z.strictObject({
  app_code: optionalAppCode.meta({ override: readAs({ type: 'string', maxLength: MAX_TEXT }) }),
  ...clientFields,
})
export type StartInput = z.output<typeof startQuery>

export const linkBody = z
  .strictObject({ provider: authMethodCode.meta({ description: 'Code of the provider' }), ...clientFields, ...proofFields })
  .meta({ id: 'LinkIdentity' })
export type LinkInput = z.output<typeof linkBody>

export const linkAnswer = z
  .object({ location: z.string().meta({ description: 'A page of the provider. Send the browser there' }) })
  .meta({ id: 'IdentityLinkStart' })

const word = z.string().max(MAX_TEXT).optional()

/** A provider's answer (RFC 6749, RFC 9207). Other members that the provider adds are accepted. */
export const callbackQuery = z.looseObject({
  state: z.string().min(1).max(MAX_TEXT),
  code: z.string().max(8_000).optional(),
  error: word,
  iss: word,
})
export type CallbackInput = z.output<typeof callbackQuery>

export const exchangeBody = z
  .object({
    code: text.min(1),
    code_verifier: text.min(1).meta({ description: 'The value whose SHA-256 is `code_challenge`' }),
    two_factor_code: optionalTwoFactorCode,
  })
  .meta({ id: 'ExchangeSsoCode' })
export type ExchangeInput = z.output<typeof exchangeBody>

export const tokensOrIdentity = z.union([tokenAnswer, identityRecord])
