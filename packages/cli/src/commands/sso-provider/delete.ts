import { flag, type Input, positional } from '../../command-line/options.ts'
import { parsePlainName } from '../../nouns/plain-name.ts'
import { type Result, record } from '../../output/output.ts'
import { confirmName } from '../../terminal/prompt.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

const options = {
  code: positional('CODE', 'Code of the provider'),
  force: flag('Unlink the users who are linked with it'),
}

export const deleteSsoProvider = command({
  path: 'sso-provider delete',
  summary: 'Delete a provider of third-party login',
  description: 'Not while users are linked with it, unless --force unlinks them. To shut it for a while, disable it.',
  examples: ['sso-provider delete acme --confirm acme', 'sso-provider delete acme --force', 'sso-provider delete acme --dry-run'],
  options,
  confirms: 'name',
  run: runDeleteSsoProvider,
})

export async function runDeleteSsoProvider(tools: Tools, { code, force }: Input<typeof options>): Promise<Result> {
  const providerCode = parsePlainName(code, 'provider')
  await confirmName(tools, code, `delete the provider ${code}`)
  const query = force ? { force: 'true' as const } : {}
  await tools.api.DELETE('/api/v1/admin/sso-providers/{providerCode}', { params: { path: { providerCode }, query } })
  return record({ code }, 'deleted')
}
