import { bodyOf } from '../../api-client.ts'
import type { components } from '../../api-types.ts'
import { parseAppRef } from '../../app-ref.ts'
import { command } from '../../command.ts'
import type { Tools } from '../../factory.ts'
import { type Input, positional } from '../../options.ts'
import type { Result } from '../../output.ts'

const options = { code: positional('CODE', 'Code or id of the app', { completes: 'apps' }) }

/** What stands in for the signing secret, which no API gives away. It is too short to be taken for one. */
const secretPlaceholder = 'replace-me'

export const appEnv = command({
  path: 'app env',
  summary: 'Print the settings that a consumer of an app needs',
  description: 'The signing secret is a placeholder: the service tells it to nobody.',
  examples: ['app env shop', 'app env shop > .env', 'app env shop -o json'],
  options,
  // Into a file as well: that is what it is for.
  formats: { all: ['dotenv', 'json'], terminal: 'dotenv', pipe: 'dotenv' },
  run: runAppEnv,
})

export async function runAppEnv({ api, connect, io }: Tools, { code }: Input<typeof options>): Promise<Result> {
  const app = await bodyOf(api.GET('/api/v1/admin/apps/{appId}', { params: { path: { appId: parseAppRef(code) } } }))
  io.note(secretHint)
  return { kind: 'variables', variables: variablesOf(app, connect().baseUrl) }
}

export const secretHint =
  'JWT_ACCESS_SECRET is a placeholder: take it from the secret store that the service itself reads its JWT_ACCESS_SECRET from'

/** What a consumer of an app reads from its environment (contract 1). */
export function variablesOf(app: Pick<components['schemas']['App'], 'id' | 'code'>, baseUrl: string): Record<string, string> {
  return {
    SERVICE_AUTH_URL: baseUrl,
    SERVICE_APP_CODE: app.code,
    SERVICE_APP_ID: app.id,
    JWT_ACCESS_SECRET: secretPlaceholder,
  }
}
