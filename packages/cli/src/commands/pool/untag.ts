import { changeTag, tagOptions } from '../../nouns/change-pool-tag.ts'
import { command } from '../../tools/command.ts'

export const untagUser = command({
  path: 'pool untag',
  summary: 'Take a pool tag from a user',
  description: 'Sessions go on. Doing it twice changes nothing. The home pool is no tag: authctl pool move changes it.',
  examples: [
    'pool untag --user bob@example.com --pool partners',
    'pool untag --from-file users.txt --pool partners --json',
    'pool untag --user bob@example.com@@staff --pool partners --dry-run',
  ],
  options: tagOptions,
  run: (tools, input) => changeTag(tools, input, 'remove'),
})
