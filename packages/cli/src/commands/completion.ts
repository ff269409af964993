import { command } from '../command.ts'
import { completionScripts, type Shell, shells } from '../completion/scripts.ts'
import { usageFailure } from '../exit-codes.ts'
import type { Tools } from '../factory.ts'
import { type Input, positional } from '../options.ts'
import type { Result } from '../output.ts'

const options = { shell: positional('SHELL', shells.join(', '), { completes: shells }) }

export const completion = command({
  path: 'completion',
  summary: 'Print the script that lets a shell complete authctl',
  description: 'It completes commands, flags, their values, contexts, and the codes of the apps that the service has right now.',
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
  if (!Object.hasOwn(completionScripts, shell)) throw usageFailure(`${shell} is none of ${shells.join(', ')}`)
  return { kind: 'body', body: completionScripts[shell as Shell] }
}
