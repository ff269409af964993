import type { components } from '@gatehouse/sdk/admin'
import { type Api, bodyOf, twoFactorRequired } from '../api/api-client.ts'
import { ownAppCode, storedTokens } from '../api/session.ts'
import { assertContextName, findContext } from '../command-line/contexts.ts'
import { Failure } from '../command-line/exit-codes.ts'
import { flag, type Input, text } from '../command-line/options.ts'
import { isReadableOnTheWay, normalizeBaseUrl } from '../command-line/settings.ts'
import { type Result, record } from '../output/output.ts'
import { askFor } from '../terminal/prompt.ts'
import { command } from '../tools/command.ts'
import type { Tools } from '../tools/create-tools.ts'
import { askForCode, readSecrets, type Secrets } from '../tools/read-secrets.ts'

const options = {
  email: text('EMAIL', 'E-mail of your account. Default: the one in the context'),
  passwordStdin: flag('Read the password from the first line of standard input, and a two-factor code from the second'),
}

export const login = command({
  path: 'login',
  summary: 'Sign in and keep the session in a context',
  description:
    'Asks for the password without showing it, and for a two-factor code if the account needs one. Stores the session in the context ' +
    'in use, or in the one that --context names ("default" if there is none), in a file that only you can read. A token that identifies ' +
    'this machine stays there after a logout, so that wrong passwords from elsewhere cannot lock you out here.',
  examples: [
    'login --email ada@example.com',
    'login --email ada@example.com --base-url https://auth.example.com --context production',
    'login --email ada@example.com --password-stdin < password.txt',
  ],
  options,
  run: runLogin,
})

export async function runLogin(tools: Tools, input: Input<typeof options>): Promise<Result> {
  const { contextName, context, baseUrl, isStandardAddress } = tools.connect({ mayBeNew: true })
  assertContextName(contextName)
  const email = input.email || context?.email || (await askFor(tools, '--email', 'E-mail:'))
  tools.io.note(`signing in at ${baseUrl} as ${email}`)
  // With JSON, a failure must be the only thing on stderr. `note` holds warnings back until the command has succeeded.
  const warn = tools.settings.asksForJson ? tools.io.note : tools.io.complain
  if (isStandardAddress) warn(`warning: no address was given, so this uses the default, ${baseUrl} (--base-url)`)
  if (isReadableOnTheWay(baseUrl))
    warn(`warning: ${baseUrl} is plain http to another machine: the password can be read in transit`)
  const { password, code } = await readSecrets(tools, input.passwordStdin)
  // Never send the tokens of one service to another.
  const device = context && normalizeBaseUrl(context.base_url) === baseUrl ? context.device_token : undefined
  const answer = await signIn(tools, tools.anonymousApi(baseUrl), { email, password, code, device })

  const isCurrent = await tools.contexts.change((file) => {
    const before = findContext(file, contextName)
    if (before && before.base_url !== baseUrl)
      tools.io.note(`context "${contextName}" was for ${before.base_url} and is now for ${baseUrl}`)
    file.contexts[contextName] = {
      base_url: baseUrl,
      email: answer.user.email,
      tokens: storedTokens(answer, tools.now()),
      ...(answer.device_token === undefined ? {} : { device_token: answer.device_token }),
      ...(before?.protected ? { protected: true } : {}),
    }
    file.current ??= contextName
    return file.current === contextName
  })
  if (!isCurrent) tools.io.note(`"${contextName}" is not the context in use: authctl context use ${contextName}`)
  return record({ context: contextName, base_url: baseUrl, email: answer.user.email, user_id: answer.user.id }, 'signed_in')
}

async function signIn(
  tools: Tools,
  api: Api,
  { email, password, code, device }: Secrets & { email: string; device: string | undefined },
): Promise<components['schemas']['Tokens']> {
  const attempt = (two_factor_code?: string) =>
    bodyOf(
      api.POST('/api/v1/auth/login', {
        body: {
          email,
          password,
          app_code: ownAppCode,
          ...(device ? { device_token: device } : {}),
          ...(two_factor_code ? { two_factor_code } : {}),
        },
      }),
    )
  try {
    return await attempt(code)
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== twoFactorRequired) throw error
    return attempt(await askForCode(tools))
  }
}
