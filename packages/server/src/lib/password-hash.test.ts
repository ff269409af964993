import bcrypt from 'bcryptjs'
import { expect, test } from 'vitest'
import { bcryptCost, hashOfNobody } from './password-hash.ts'

test.for([4, 12])('what an unknown user is compared with is a hash of cost %i, and bcrypt works through it', (cost) => {
  const hash = hashOfNobody(cost)
  expect(bcryptCost(hash)).toBe(cost)
  // bcrypt refuses what is no salt; what it makes has the salt that it was given, and another digest.
  const made = bcrypt.hashSync('any password', hash.slice(0, 29))
  expect(made.slice(0, 29)).toBe(hash.slice(0, 29))
  expect(bcrypt.compareSync('any password', hash)).toBe(false)
})
