import { usageFailure } from '../command-line/exit-codes.ts'
import { positional } from '../command-line/options.ts'
import { completionScripts, shells } from '../completion/scripts.ts'
import { command } from '../tools/command.ts'

export const completion = command({
  path: 'completion',
  options: { shell: positional('SHELL', shells.join(', '), { completes: shells }) },
  summary: 'Print a script for shell completion of authctl',
  description:
    'Completes commands, flags, their values, contexts, names of events, and what the service currently has: apps, roles, pools, services, ' +
    'organizations and providers.',
  examples: [
    'completion bash > ~/.local/share/bash-completion/completions/authctl',
    'completion zsh > ~/.zfunc/_authctl',
    'completion fish > ~/.config/fish/completions/authctl.fish',
  ],
  formats: { all: ['script'], terminal: 'script', pipe: 'script' },
  async run(_, { shell }) {
    const script = completionScripts.get(shell)
    if (script === undefined) throw usageFailure(`SHELL must be one of ${shells.join(', ')}, not ${shell}`)
    return { kind: 'body', body: script }
  },
})
