import bcrypt from 'bcryptjs'
import { expect, test } from 'vitest'
import { bcryptCost, costsBetween, hashOfNobody } from './password.ts'

test('the work after a hash of lower cost makes up for its missing rounds, and a higher cost needs none', () => {
  const rounds = (costs: number[]) => costs.reduce((sum, cost) => sum + 2 ** cost, 0)
  for (let to = 4; to <= 15; to += 1) {
    for (let from = 4; from <= to; from += 1) expect(2 ** from + rounds(costsBetween(from, to))).toBe(2 ** to)
    expect(costsBetween(to + 1, to)).toEqual([])
  }
})

test.for([4, 12])('the hash for unknown users has cost %i, and bcrypt works through it', (cost) => {
  const hash = hashOfNobody(cost)
  expect(bcryptCost(hash)).toBe(cost)
  // bcrypt rejects an invalid salt. The result has the salt that it was given, and another digest.
  const made = bcrypt.hashSync('any password', hash.slice(0, 29))
  expect(made.slice(0, 29)).toBe(hash.slice(0, 29))
  expect(bcrypt.compareSync('any password', hash)).toBe(false)
})
