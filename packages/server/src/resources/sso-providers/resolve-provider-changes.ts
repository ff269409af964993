import type { Deps } from '../../deps.ts'
import { fieldError } from '../../errors.ts'
import type { SsoProvider } from '../../models/sso-provider.ts'
import { clientSecretContext } from './get-provider.ts'
import type { UpdateProviderInput } from './schema.ts'

type ProviderSettings = Pick<
  SsoProvider,
  'issuer' | 'client_id' | 'client_secret_box' | 'scopes' | 'app_codes' | 'trusted_email_domains' | 'enabled'
>

/** The columns that an input sets in a provider. Throws `validation_failed` for an issuer without https in production. */
export function resolveProviderChanges(
  deps: Deps,
  id: string,
  input: Omit<UpdateProviderInput, 'code'>,
): Partial<ProviderSettings> {
  const { issuer, client_id, client_secret, scopes, app_codes, trusted_email_domains, enabled } = input
  if (issuer !== undefined && deps.config.production && !/^https:/i.test(issuer))
    throw fieldError('issuer', 'invalid_value', 'must be https in production')
  return {
    ...(issuer === undefined ? {} : { issuer }),
    ...(client_id === undefined ? {} : { client_id }),
    ...(client_secret === undefined ? {} : { client_secret_box: deps.secretBox.seal(client_secret, clientSecretContext(id)) }),
    ...(scopes === undefined ? {} : { scopes: [...new Set(['openid', ...scopes])] }),
    ...(app_codes === undefined ? {} : { app_codes: [...new Set(app_codes)] }),
    ...(trusted_email_domains === undefined ? {} : { trusted_email_domains: [...new Set(trusted_email_domains)] }),
    ...(enabled === undefined ? {} : { enabled }),
  }
}
