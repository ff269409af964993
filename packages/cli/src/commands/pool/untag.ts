import { changeTag, tagOptions } from '../../nouns/change-pool-tag.ts'
import { command } from '../../tools/command.ts'

export const untagUser = command({
  path: 'pool untag',
  summary: 'Remove a pool tag from a user',
  description: 'Sessions continue. Repeating it changes nothing. The home pool is not a tag: authctl pool move changes it.',
  examples: [
    'pool untag --user bob@example.com --pool partners',
    'pool untag --from-file users.txt --pool partners --json',
    'pool untag --user bob@example.com@@staff --pool partners --dry-run',
  ],
  options: tagOptions,
  run: (tools, input) => changeTag(tools, input, 'remove'),
})
