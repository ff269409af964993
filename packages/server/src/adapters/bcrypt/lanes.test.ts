import bcrypt from 'bcryptjs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { samples } from '../../../../../test/support/lane.ts'
import { laneBytes, laneCount } from './lane-program.ts'
import { type LaneJob, Lanes } from './lanes.ts'

type Asked = Omit<LaneJob, 'done'>

const password = (text: string) => new TextEncoder().encode(text)

/** A different job for each number. */
function jobOf(number: number, cost = 4 + (number % 3), costAtLeast = cost): Asked {
  return {
    password: password(`password ${'x'.repeat(number * 5)}${number}`),
    salt: new Uint8Array(16).fill(number * 37),
    cost,
    costAtLeast,
  }
}

/** The digest that bcryptjs computes for the job. */
function reference({ password, salt, cost }: Asked): Buffer {
  const setting = `$2b$${String(cost).padStart(2, '0')}$${bcrypt.encodeBase64([...salt], 16)}`
  const hash = bcrypt.hashSync(new TextDecoder().decode(password), setting)
  return Buffer.from(bcrypt.decodeBase64(hash.slice(29), 23))
}

/** In memory, Blowfish's words have their lowest byte first. */
function isInMemory(lanes: Lanes, text: string): boolean {
  return Buffer.from(lanes.memory.slice()).swap32().includes(text)
}

describe('lanes of a hash thread', () => {
  test('a lane gives the same digest as bcryptjs, whatever the other lanes do and whenever it joined', () => {
    const jobs = Array.from({ length: 9 }, (_, number) => jobOf(number))
    const expected = jobs.map(reference)
    const lanes = new Lanes(laneCount)
    // The order in which jobs start, and the number of steps before each start.
    const plans = fc.tuple(
      fc.shuffledSubarray([...jobs.keys()], { minLength: 2 }),
      fc.array(fc.nat(3), { minLength: 9, maxLength: 9 }),
    )
    fc.assert(
      fc.property(plans, ([order, pauses]) => {
        const made = new Map<number, Uint8Array>()
        for (const [index, number] of order.entries()) {
          for (let step = 0; (step < pauses[index]! || lanes.taken === laneCount) && lanes.taken > 0; step += 1) lanes.step()
          lanes.start({ ...jobs[number]!, done: (digest) => made.set(number, digest) })
        }
        while (lanes.taken > 0) lanes.step()
        for (const number of order) expect(Buffer.from(made.get(number)!)).toEqual(expected[number])
      }),
      { numRuns: samples(60) },
    )
  })

  test('a job of lower cost runs as long as the one of higher cost beside it, and keeps its own digest', () => {
    const lanes = new Lanes(laneCount)
    const made: Uint8Array[] = []
    const [low, high] = [jobOf(1, 4, 9), jobOf(2, 9)]
    for (const [index, job] of [low, high].entries()) lanes.start({ ...job, done: (digest) => (made[index] = digest) })
    while (lanes.taken > 0) {
      expect(lanes.taken).toBe(2)
      lanes.step()
    }
    expect(made.map((digest) => Buffer.from(digest))).toEqual([low, high].map(reference))
  })

  test('a job whose cost is above the minimum runs to its end', () => {
    const lanes = new Lanes(1)
    const job = jobOf(3, 7, 4)
    let made = new Uint8Array()
    lanes.start({ ...job, done: (digest) => (made = Uint8Array.from(digest)) })
    while (lanes.taken > 0) lanes.step()
    expect(Buffer.from(made)).toEqual(reference(job))
  })

  test('a job is refused while all lanes are taken', () => {
    const lanes = new Lanes(2)
    const start = () => lanes.start({ ...jobOf(1), done() {} })
    start()
    start()
    expect(start).toThrow(RangeError)
  })
})

test('the memory holds a password while its job runs, and no trace of it afterwards', () => {
  const lanes = new Lanes(laneCount)
  const texts = ['the first of them', 'the second of them', 'the third of them']
  for (const [index, text] of texts.entries())
    lanes.start({ password: password(text), salt: new Uint8Array(16).fill(7), cost: 4 + 2 * index, costAtLeast: 4, done() {} })
  for (let running = 3; running > 0; running -= 1) {
    expect(lanes.taken).toBe(running)
    expect(texts.map((text) => isInMemory(lanes, text))).toEqual(texts.map((_, index) => index >= 3 - running))
    expect(new Uint8Array(lanes.memory, running * laneBytes).every((byte) => byte === 0)).toBe(true)
    while (lanes.taken === running) lanes.step()
  }
  expect(new Uint8Array(lanes.memory).every((byte) => byte === 0)).toBe(true)
})
