// For any password, the lanes compute the same hash as bcryptjs.
import { randomBytes, randomInt } from 'node:crypto'
import { expect, test } from 'vitest'
import { formatBcrypt } from '../../packages/server/src/adapters/bcrypt/bcrypt-text.ts'
import { LaneEngine, ReferenceEngine } from '../../packages/server/src/adapters/bcrypt/engines.ts'
import { laneCount } from '../../packages/server/src/adapters/bcrypt/lane-program.ts'
import { Lanes } from '../../packages/server/src/adapters/bcrypt/lanes.ts'
import { measured, sized } from '../support/fault.ts'

const PASSWORDS = sized(2_000, 100_000)

/** Up to 80 characters, of one to four bytes in UTF-8. */
function somePassword(): string {
  const widest = [0x80, 0x800, 0xd800, 0x10ffff][randomInt(4)]!
  return String.fromCodePoint(
    ...Array.from({ length: randomInt(81) }, () => {
      const point = randomInt(1, widest)
      // Halves of a surrogate pair are not characters.
      return point >= 0xd800 && point < 0xe000 ? 0x20 : point
    }),
  )
}

function someJob() {
  const cost = randomInt(20) === 0 ? 5 : 4
  return { password: somePassword(), salt: randomBytes(16), cost, costAtLeast: 4 }
}

test('no hash of the lanes differs from that of bcryptjs', { timeout: 1_800_000 }, async (context) => {
  const engine = new LaneEngine(new Lanes(laneCount))
  const reference = new ReferenceEngine()
  for (let done = 0; done < PASSWORDS; done += laneCount) {
    const jobs = Array.from({ length: Math.min(laneCount, PASSWORDS - done) }, someJob)
    const digests = await Promise.all(jobs.map((job) => engine.digest(job)))
    for (const [index, job] of jobs.entries()) {
      const expected = formatBcrypt({ ...job, digest: await reference.digest(job) })
      expect([job.password, formatBcrypt({ ...job, digest: digests[index]! })]).toEqual([job.password, expected])
    }
  }
  measured(context, `${PASSWORDS.toLocaleString('en-US')} random passwords of 0 to 80 characters: 0 differ`)
})
