import bcrypt from 'bcryptjs'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { samples } from '../../../../test/support/lane.ts'
import { LaneEngine } from './bcrypt/engines.ts'
import { laneCount } from './bcrypt/lane-program.ts'
import { Lanes } from './bcrypt/lanes.ts'
import { BcryptScheme } from './bcrypt-scheme.ts'

const scheme = new BcryptScheme(new LaneEngine(new Lanes(laneCount)))

const matches = async (hash: string, password: string) => (await scheme.verify(hash, password, 4)).matches

/** Our hash and that of bcryptjs agree for this password. */
async function expectAgreement(password: string, cost: number): Promise<void> {
  const ours = await scheme.hash(password, cost)
  expect(ours).toMatch(new RegExp(`^\\$2b\\$${String(cost).padStart(2, '0')}\\$[./A-Za-z0-9]{53}$`))
  // The hashes are equal, salt included, so both give the same verdict on any password.
  expect([password, bcrypt.hashSync(password, ours.slice(0, 29))]).toEqual([password, ours])
}

test('our hashes equal those of bcryptjs for random passwords of any characters', async () => {
  const passwords = fc.string({ unit: 'binary', maxLength: 80 })
  await fc.assert(
    fc.asyncProperty(passwords, (password) => expectAgreement(password, 4)),
    { numRuns: samples(600) },
  )
})

test('our hashes equal those of bcryptjs for every length that bcrypt reads, and beyond', async () => {
  for (let length = 0; length <= 74; length += 1) await expectAgreement('z'.repeat(length), 4)
})

test('our hashes equal those of bcryptjs for every character of one or two bytes', async () => {
  for (let first = 1; first < 0x800; first += 36)
    await expectAgreement(String.fromCharCode(...Array.from({ length: 36 }, (_, index) => first + index)), 4)
})

test.for([4, 5, 6, 7, 8, 9, 10, 11, 12])('our hashes equal those of bcryptjs at cost %i', (cost) =>
  expectAgreement('correct horse battery staple', cost),
)

test('a hash of bcryptjs of each version matches its password and no other', async () => {
  const hash = bcrypt.hashSync('correct horse', 4)
  for (const version of ['$2a$', '$2b$', '$2y$']) {
    expect(await matches(version + hash.slice(4), 'correct horse')).toBe(true)
    for (const wrong of ['correct hors', 'correct horse ', 'Correct horse', '']) expect(await matches(hash, wrong)).toBe(false)
  }
})

test('a hash changed in any character matches no password, even in bits that bcrypt does not use', async () => {
  const hash = await scheme.hash('correct horse', 4)
  for (let at = 7; at < hash.length; at += 1) {
    const other = hash.charAt(at) === 'A' ? 'B' : 'A'
    const changed = hash.slice(0, at) + other + hash.slice(at + 1)
    expect([changed, await matches(changed, 'correct horse')]).toEqual([changed, bcrypt.compareSync('correct horse', changed)])
    expect(await matches(changed, 'correct horse')).toBe(false)
  }
})
