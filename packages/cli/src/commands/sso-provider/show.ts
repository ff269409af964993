import { bodyOf } from '../../api/api-client.ts'
import { type Input, positional } from '../../command-line/options.ts'
import { parsePlainName } from '../../nouns/plain-name.ts'
import { type Result, record } from '../../output/output.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

const options = { code: positional('CODE', 'Code of the provider') }

export const showSsoProvider = command({
  path: 'sso-provider show',
  summary: 'Show a provider of third-party login',
  examples: ['sso-provider show google', 'sso-provider show google --json', 'sso-provider show acme -o ndjson'],
  options,
  run: runShowSsoProvider,
})

export async function runShowSsoProvider({ api }: Tools, { code }: Input<typeof options>): Promise<Result> {
  const path = { providerCode: parsePlainName(code, 'provider') }
  return record(await bodyOf(api.GET('/api/v1/admin/sso-providers/{providerCode}', { params: { path } })))
}
