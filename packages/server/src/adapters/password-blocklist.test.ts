import { expect, test } from 'vitest'
import { commonPasswords } from './password-blocklist.ts'

test('the blocklist holds 10,000 passwords of allowed length in lower case, and is read once', () => {
  const list = commonPasswords()
  expect(list.size).toBe(10_000)
  expect([...list].every((password) => password.length >= 8 && password === password.toLowerCase())).toBe(true)
  expect(commonPasswords()).toBe(list)
})

test.each(['password', '12345678', 'password1', 'iloveyou', 'qwertyuiop', 'p@ssw0rd', 'trustno1', 'letmein1', 'qwerty123'])(
  'the blocklist contains %s',
  (password) => {
    expect(commonPasswords().has(password)).toBe(true)
  },
)

test('the blocklist contains neither a passphrase nor a random password', () => {
  for (const password of ['correct horse battery staple', 'k3v!Lq92-xTz', 'Password of 2026, mine'])
    expect(commonPasswords().has(password.toLowerCase())).toBe(false)
})
