import { bodyOf } from '../../api/api-client.ts'
import { secretHint, variablesOf } from '../../nouns/app-environment.ts'
import { appSubject, parseAppRef } from '../../nouns/app-ref.ts'
import { command } from '../../tools/command.ts'

export const appEnv = command({
  path: 'app env',
  options: { code: appSubject },
  summary: 'Print the settings that a consumer of an app needs',
  description: 'The signing secret is a placeholder, because no API returns it.',
  examples: ['app env shop', 'app env shop > .env', 'app env shop -o json'],
  // The default in a pipe too: users redirect the output to a .env file.
  formats: { all: ['dotenv', 'json'], terminal: 'dotenv', pipe: 'dotenv' },
  async run({ api, connect, io }, { code }) {
    const app = await bodyOf(api.GET('/api/v1/admin/apps/{appId}', { params: { path: { appId: parseAppRef(code) } } }))
    io.note(secretHint)
    return { kind: 'variables', variables: variablesOf(app, connect().baseUrl) }
  },
})
