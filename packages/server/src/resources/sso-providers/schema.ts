import { z } from 'zod'
import { reservedProviderCodes } from '../../lib/auth-methods.ts'
import {
  appCodeOrAll,
  authMethodCode,
  domainOrAll,
  id,
  list,
  MAX_TEXT,
  page,
  pageQuery,
  queryFlag,
  text,
  timestamp,
  webUrl,
} from '../../lib/fields.ts'

export const providerParams = z.object({ providerCode: authMethodCode })

const issuer = webUrl.refine((url) => !/[?#]/.test(url), 'must have no query and no fragment')
const scope = z
  .string()
  .min(1)
  .max(100)
  .regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'must be one scope, without spaces')
const secret = z.string().min(1).max(MAX_TEXT).meta({ format: 'password', description: 'Write-only' })
const scopes = list(scope).meta({ description: 'Default: `openid email profile`. `openid` is always included' })
const appCodes = list(appCodeOrAll).meta({ description: 'The apps that its users may log in to. `*`: every app. Default: none' })
const trustedEmailDomains = list(domainOrAll).meta({
  description:
    'The domains whose addresses count as verified here if the provider has verified them. `*`: every domain. Default: none. ' +
    '`google` is also trusted for `gmail.com` and for the domain in `hd`',
})

const trustedForTwoFactor = z
  .boolean()
  .optional()
  .meta({
    description:
      'Whether a sign-in there is enough for apps with `require_two_factor`, of users who own no second factor here. Never for apps ' +
      'that administer this service. Default: false',
  })

export const createProviderBody = z
  .strictObject({
    code: authMethodCode
      .refine((code) => !reservedProviderCodes.includes(code), 'is the name of another method')
      .meta({ description: 'Names the provider in URLs and in `allowed_auth_methods`. Never changes' }),
    issuer: issuer.optional().meta({ description: 'Base URL of `/.well-known/openid-configuration`. Not needed for `google`' }),
    client_id: text.min(1),
    client_secret: secret,
    scopes: scopes.optional(),
    app_codes: appCodes.optional(),
    trusted_email_domains: trustedEmailDomains.optional(),
    trusted_for_two_factor: trustedForTwoFactor,
    enabled: z.boolean().optional().meta({ description: 'Default: true' }),
  })
  .meta({ id: 'CreateSsoProvider' })
export type CreateProviderInput = z.output<typeof createProviderBody>

export const updateProviderBody = z
  .strictObject({
    issuer: issuer.optional().meta({ description: 'Only accepted while no user is linked' }),
    client_id: text.min(1).optional(),
    client_secret: secret.optional(),
    scopes: scopes.optional(),
    app_codes: appCodes.optional(),
    trusted_email_domains: trustedEmailDomains.optional(),
    trusted_for_two_factor: trustedForTwoFactor,
    enabled: z.boolean().optional(),
  })
  .meta({ id: 'UpdateSsoProvider' })
export type UpdateProviderInput = z.output<typeof updateProviderBody>

export const deleteProviderQuery = z.strictObject({
  force: queryFlag.optional().meta({ description: 'Also unlink its users' }),
})

export const listProvidersQuery = z.strictObject(pageQuery)

export const providerRecord = z
  .object({
    id,
    code: z.string(),
    issuer: z.string(),
    client_id: z.string(),
    has_client_secret: z.boolean(),
    scopes: z.array(z.string()),
    app_codes: z.array(z.string()),
    trusted_email_domains: z.array(z.string()),
    trusted_for_two_factor: z.boolean(),
    enabled: z.boolean(),
    callback_url: z.string().meta({ description: 'The redirect URI to register at the provider' }),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'SsoProvider' })

export const providerPage = page(providerRecord)
