import { endings, toFailure, usageFailure } from './command-line/exit-codes.ts'
import { asksForJson } from './command-line/settings.ts'
import { commands, nouns } from './commands/index.ts'
import { answerShell } from './completion/answer-shell.ts'
import { askingWord } from './completion/scripts.ts'
import { renderFailure } from './output/render.ts'
import { buildProgram, CommanderError } from './program.ts'
import type { World } from './terminal/io.ts'

/** Runs one command line and returns the exit code. Never throws. */
export async function main(words: string[], world: World): Promise<number> {
  if (words[0] === askingWord) {
    await answerShell(words.slice(words[1] === '--' ? 2 : 1), world, { commands, nouns })
    return 0
  }
  let complaints = ''
  const program = buildProgram(words, world, (text) => {
    complaints += text
  })
  try {
    await program.parseAsync(words, { from: 'user' })
    return 0
  } catch (thrown) {
    if (thrown instanceof CommanderError && thrown.exitCode === 0) return 0
    const asJson = asksForJson(words)
    if (thrown instanceof CommanderError && thrown.code === 'commander.help' && !asJson) {
      world.stderr.write(complaints)
      return endings.usage.exit
    }
    const failure = thrown instanceof CommanderError ? usageFailureOf(thrown) : toFailure(thrown)
    renderFailure(failure, { asJson, debug: words.includes('--debug') }, world.stderr)
    return failure.exit
  }
}

function usageFailureOf(error: CommanderError) {
  if (error.code === 'commander.help') return usageFailure('a command is missing', 'authctl --help lists them')
  const [message = '', ...hints] = error.message.replace(/^error: /, '').split('\n')
  return usageFailure(message, hints.join(' ') || undefined)
}
