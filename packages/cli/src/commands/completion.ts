import { usageFailure } from '../command-line/exit-codes.ts'
import { type Input, positional } from '../command-line/options.ts'
import { completionScripts, shells } from '../completion/scripts.ts'
import type { Result } from '../output/output.ts'
import { command } from '../tools/command.ts'
import type { Tools } from '../tools/create-tools.ts'

const options = { shell: positional('SHELL', shells.join(', '), { completes: shells }) }

export const completion = command({
  path: 'completion',
  summary: 'Print a script for shell completion of authctl',
  description:
    'Completes commands, flags, their values, contexts, names of events, and what the service currently has: apps, roles, pools, services, ' +
    'organizations and providers.',
  examples: [
    'completion bash > ~/.local/share/bash-completion/completions/authctl',
    'completion zsh > ~/.zfunc/_authctl',
    'completion fish > ~/.config/fish/completions/authctl.fish',
  ],
  options,
  formats: { all: ['script'], terminal: 'script', pipe: 'script' },
  run: runCompletion,
})

export async function runCompletion(_: Tools, { shell }: Input<typeof options>): Promise<Result> {
  const script = completionScripts.get(shell)
  if (script === undefined) throw usageFailure(`SHELL must be one of ${shells.join(', ')}, not ${shell}`)
  return { kind: 'body', body: script }
}
