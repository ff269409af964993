import { usageFailure } from '../command-line/exit-codes.ts'
import { flag, type Input, type Options, positional, text, texts, toggle } from '../command-line/options.ts'
import type { Tools } from '../tools/create-tools.ts'

export const providerSubject = positional('CODE', 'Code of the provider', { completes: 'providers' })

/** The settings that `sso-provider create` and `sso-provider update` share. */
export const providerSettings = {
  issuer: text('URL', 'Issuer, which serves /.well-known/openid-configuration. Not needed for google'),
  scope: texts('SCOPE', 'Scopes to request. Default: openid, email and profile'),
  app: texts('CODE', 'Apps that users may log in to with it; * is every app. Default: none', { completes: 'apps' }),
  trustDomain: texts(
    'DOMAIN',
    'Domains whose e-mails count as verified if it has verified them; * is every domain. Default: none',
  ),
  trustTwoFactor: toggle('Take a login with it as a second factor, of users who own none here; never at admin apps'),
  enabled: toggle('Let users log in with it'),
  clientSecretStdin: flag('Read the client secret from standard input'),
} satisfies Options

/** The body for the service, without the client secret. Holds only the settings that were given. */
export function settingsBody(input: Omit<Input<typeof providerSettings>, 'clientSecretStdin'>) {
  const { issuer, scope, app, trustDomain, trustTwoFactor, enabled } = input
  return {
    ...(issuer === undefined ? {} : { issuer }),
    ...(scope === undefined ? {} : { scopes: scope }),
    ...(app === undefined ? {} : { app_codes: app }),
    ...(trustDomain === undefined ? {} : { trusted_email_domains: trustDomain }),
    ...(trustTwoFactor === undefined ? {} : { trusted_for_two_factor: trustTwoFactor }),
    ...(enabled === undefined ? {} : { enabled }),
  }
}

/** The client secret from standard input. */
export async function readClientSecret({ io }: Pick<Tools, 'io'>): Promise<string> {
  const secret = (await io.readInput()).trim()
  if (secret === '') throw usageFailure('standard input does not contain a client secret')
  return secret
}
