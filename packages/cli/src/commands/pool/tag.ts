import { changeTag, tagOptions } from '../../nouns/change-pool-tag.ts'
import { command } from '../../tools/command.ts'

export const tagUser = command({
  path: 'pool tag',
  summary: 'Let the apps that read a pool find a user of another pool',
  description: 'Sessions continue. Repeating it changes nothing.',
  examples: [
    'pool tag --user bob@example.com --pool partners',
    'pool tag --from-file users.txt --pool partners --json',
    'pool tag --user bob@example.com@@staff --pool partners --dry-run',
  ],
  options: tagOptions,
  run: (tools, input) => changeTag(tools, input, 'add'),
})
