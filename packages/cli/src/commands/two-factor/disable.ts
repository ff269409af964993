import { flag } from '../../command-line/options.ts'
import { refused } from '../../nouns/two-factor-refused.ts'
import { record } from '../../output/output.ts'
import { command } from '../../tools/command.ts'
import { askForCode, readSecrets } from '../../tools/read-secrets.ts'

export const disableTwoFactor = command({
  path: 'two-factor disable',
  options: {
    passwordStdin: flag('Read the password from standard input, and a two-factor or recovery code from its second line'),
  },
  summary: 'Turn off your second factor',
  description: 'Asks for the password, and for a code of the authenticator app or a recovery code.',
  examples: [
    'two-factor disable',
    'two-factor disable --password-stdin < password-and-code.txt',
    'two-factor disable --context production --json',
  ],
  async run(tools, { passwordStdin }) {
    const { password, code } = await readSecrets(tools, passwordStdin)
    const body = { password, code: code ?? (await askForCode(tools)) }
    try {
      await tools.api.POST('/api/v1/auth/2fa/disable', { body })
    } catch (error) {
      throw refused(error) ?? error
    }
    return record({ two_factor: false }, 'disabled')
  },
})
