import { count, flag, type Input } from '../../command-line/options.ts'
import { kindOfLockout, lockoutsIn } from '../../nouns/lockouts.ts'
import { list, type Result } from '../../output/output.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

const options = {
  locked: flag('Only what is locked now, without failures that may become a lock'),
  limit: count('N', 'At most so many; all unless given'),
}

export const listLockouts = command({
  path: 'lockout list',
  summary: 'List what failed logins have locked, or count towards a lock',
  description:
    'OF is what is counted: an address in a pool, a device that has signed in before, or the second factor. An address that nobody ' +
    'has is counted too, and not shown.',
  examples: ['lockout list', 'lockout list --locked', 'lockout list --json'],
  options,
  run: runListLockouts,
})

export async function runListLockouts({ api }: Tools, { locked, limit }: Input<typeof options>): Promise<Result> {
  return list(
    lockoutsIn(api, { locked, limit }),
    [['email', ({ email }) => email ?? '(nobody)'], 'pool', ['of', kindOfLockout], 'failures', 'locked_until', 'key'],
    locked ? 'nothing is locked' : 'no failures',
  )
}
