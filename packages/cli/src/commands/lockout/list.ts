import { count, flag } from '../../command-line/options.ts'
import { kindOfLockout, lockoutsIn } from '../../nouns/lockouts.ts'
import { list } from '../../output/output.ts'
import { command } from '../../tools/command.ts'

export const listLockouts = command({
  path: 'lockout list',
  options: {
    locked: flag('Only current locks, without failures that may lead to one'),
    limit: count('N', 'Maximum number of rows. Default: all'),
  },
  summary: 'List locks, and failed logins that count towards a lock',
  description:
    'OF is what the failures count for: an address in a pool, a device that has signed in before, or the second factor. An address ' +
    'without an account is counted too, but not shown.',
  examples: ['lockout list', 'lockout list --locked', 'lockout list --json'],
  async run({ api }, { locked, limit }) {
    return list(
      lockoutsIn(api, { locked, limit }),
      [['email', ({ email }) => email ?? '(nobody)'], 'pool', ['of', kindOfLockout], 'failures', 'locked_until', 'key'],
      locked ? 'nothing is locked' : 'no failures',
    )
  },
})
