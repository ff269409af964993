import type { components } from '@gatehouse/sdk/admin'
import { type Api, bodyOf, type Pages, pages, readAll } from '../api/api-client.ts'
import { Failure, usageFailure } from '../command-line/exit-codes.ts'
import { count, flag, optionalPositional } from '../command-line/options.ts'
import { inLanes } from '../nouns/in-lanes.ts'
import { isAbsent } from '../nouns/user-records.ts'
import { list, type Result, record } from '../output/render.ts'
import { askFor, confirmYes } from '../terminal/prompt.ts'
import { command } from '../tools/command.ts'
import type { Tools } from '../tools/create-tools.ts'

export type Lockout = components['schemas']['Lockout']

/** Reads the counters of failed logins, or with `locked` only those that lock. */
async function* lockoutsIn(
  api: Api,
  { locked, limit = Number.POSITIVE_INFINITY }: { locked: boolean; limit?: number | undefined },
): Pages<Lockout> {
  let left = limit
  const all = pages((query) => bodyOf(api.GET('/api/v1/admin/lockouts', { params: { query } })))
  for await (const page of all) {
    const chosen = page.filter(({ locked_until }) => !locked || locked_until !== null).slice(0, left)
    left -= chosen.length
    yield chosen
    if (left === 0) return
  }
}

/** What a counter belongs to: an address, a second factor or a device. */
function kindOfLockout({ key, pool }: Lockout): string {
  if (pool !== null) return 'address'
  return key.startsWith('two-factor:') ? 'second factor' : 'device'
}

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

export const clearLockouts = command({
  path: 'lockout clear',
  options: {
    key: optionalPositional('KEY', 'One lock or counter, as lockout list shows it'),
    all: flag('All current locks. During an attack, this gives the attacker new tries'),
  },
  summary: 'Lift a lock, or all of them',
  description: 'user unlock lifts all locks of one user. Repeating it changes nothing.',
  examples: [
    'lockout clear --all --yes',
    'lockout clear two-factor:0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f',
    'lockout clear --all --dry-run',
  ],
  confirms: 'yes',
  async run(tools, input) {
    if (input.key !== undefined && input.all) throw usageFailure('KEY and --all contradict each other')
    if (input.all) return clearAll(tools)
    const key = input.key ?? (await askFor(tools, 'KEY or --all', 'Key of the lock:'))
    return record({ key }, (await clear(tools, key)) ? 'cleared' : 'unchanged')
  },
})

async function clearAll(tools: Tools): Promise<Result> {
  await confirmYes(tools, 'lift all locks')
  const locks = await readAll(lockoutsIn(tools.api, { locked: true }))
  let cleared = 0
  const forget = tools.onInterrupt(() => interrupted(cleared, locks.length))
  try {
    await inLanes(locks, async ({ key }) => {
      if (await clear(tools, key)) cleared += 1
    })
  } finally {
    forget()
  }
  return record({ locks: cleared }, cleared > 0 ? 'cleared' : 'unchanged')
}

/** Returns false if there is no lock with this key. */
async function clear({ api }: Tools, key: string): Promise<boolean> {
  try {
    await api.DELETE('/api/v1/admin/lockouts/{key}', { params: { path: { key } } })
    return true
  } catch (error) {
    if (isAbsent(error)) return false
    throw error
  }
}

function interrupted(done: number, total: number): Failure {
  return new Failure('interrupted', `interrupted: ${done} of ${total} locks are lifted`, {
    code: 'interrupted',
    hint: 'run the same command again: it continues with the locks that are left',
  })
}
