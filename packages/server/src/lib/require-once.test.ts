import { createRequire } from 'node:module'
import { expect, test } from 'vitest'
import { requireOnce } from './require-once.ts'

test('leaves neither the modules of the package nor those of its dependencies in the cache', () => {
  const words = requireOnce<typeof import('@zxcvbn-ts/language-common')>('@zxcvbn-ts/language-common')
  expect(words.dictionary['passwords-common']).toContain('password')
  const cached = Object.keys(createRequire(import.meta.url).cache)
  expect(cached.filter((file) => file.includes('zxcvbn-ts'))).toEqual([])
})
