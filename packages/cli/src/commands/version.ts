import { version } from '../command-line/version.ts'
import { record } from '../output/render.ts'
import { command } from '../tools/command.ts'

export const versionCommand = command({
  path: 'version',
  summary: 'Print the version of authctl',
  examples: ['version', 'version --json', 'api GET /health'],
  options: {},
  run: async () => record({ version, node: process.version }),
})
