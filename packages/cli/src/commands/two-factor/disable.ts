import { flag, type Input } from '../../command-line/options.ts'
import { refused } from '../../nouns/two-factor-refused.ts'
import { type Result, record } from '../../output/output.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'
import { askForCode, readSecrets } from '../../tools/read-secrets.ts'

const options = {
  passwordStdin: flag('Read the password from standard input, and a two-factor or recovery code from its second line'),
}

export const disableTwoFactor = command({
  path: 'two-factor disable',
  summary: 'Turn off your second factor',
  description: 'Asks for the password, and for a code of the authenticator app or a recovery code.',
  examples: [
    'two-factor disable',
    'two-factor disable --password-stdin < password-and-code.txt',
    'two-factor disable --context production --json',
  ],
  options,
  run: runDisableTwoFactor,
})

export async function runDisableTwoFactor(tools: Tools, { passwordStdin }: Input<typeof options>): Promise<Result> {
  const { password, code } = await readSecrets(tools, passwordStdin)
  const body = { password, code: code ?? (await askForCode(tools)) }
  try {
    await tools.api.POST('/api/v1/auth/2fa/disable', { body })
  } catch (error) {
    throw refused(error) ?? error
  }
  return record({ two_factor: false }, 'disabled')
}
