import { expect, test } from 'vitest'
import { commonPasswords } from './password-blocklist.ts'

test('holds 10,000 passwords that are long enough to be chosen, in lower case, and is read once', () => {
  const list = commonPasswords()
  expect(list.size).toBe(10_000)
  expect([...list].every((password) => password.length >= 8 && password === password.toLowerCase())).toBe(true)
  expect(commonPasswords()).toBe(list)
})

test.each(['password', '12345678', 'password1', 'iloveyou', 'qwertyuiop', 'p@ssw0rd', 'trustno1', 'letmein1', 'qwerty123'])(
  '%s is in it',
  (password) => {
    expect(commonPasswords().has(password)).toBe(true)
  },
)

test('a passphrase and a random password are not', () => {
  for (const password of ['correct horse battery staple', 'k3v!Lq92-xTz', 'Password of 2026, mine'])
    expect(commonPasswords().has(password.toLowerCase())).toBe(false)
})
