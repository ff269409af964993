import { command } from '../command.ts'
import { record } from '../output.ts'
import { version } from '../version.ts'

export const versionCommand = command({
  path: 'version',
  summary: 'Print the version of authctl',
  examples: ['version', 'version --json', 'api GET /health'],
  options: {},
  run: async () => record({ version, node: process.version }),
})
