import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { inspectToken } from './check-token.ts'

interface Vectors {
  now: number
  issuer: string
  app_code: string
  secret: string
  secret_previous: string
  tokens: { name: string; result: string; token: string }[]
}

const page = readFileSync(new URL('../../../../docs/tokens.md', import.meta.url), 'utf8')
const { now, issuer, app_code: app, secret, secret_previous, tokens }: Vectors = JSON.parse(/```json\n(.*?)```/s.exec(page)![1]!)
const expected = { secret, issuer, app, now: now * 1000 }

// One secret at a time, and an app by its code alone: the two vectors about more than that say so.
test.each(tokens.filter(({ name }) => name !== 'app_id of another app'))(
  'docs/tokens.md on $name: $result',
  ({ name, token, result }) => {
    const used = name === 'signed with the previous secret' ? secret_previous : secret
    const { valid, checks } = inspectToken(token, { ...expected, secret: used })
    expect({ valid, code: checks.at(-1)!.code ?? 'ok' }).toEqual({ valid: result === 'ok', code: result })
    expect(checks.slice(0, -1).every(({ ok }) => ok)).toBe(true)
  },
)

const good = tokens[0]!.token

test('without a secret a token is decoded, and nothing is said of its worth', () => {
  const { valid, claims, header, checks } = inspectToken(good, { ...expected, secret: undefined, now: 9e15 })
  expect({ valid, checks: checks.map(({ name }) => name) }).toEqual({ valid: undefined, checks: ['size', 'form', 'payload'] })
  expect({ aud: claims!.aud, alg: header!.alg }).toEqual({ aud: app, alg: 'HS256' })
  expect(inspectToken('no token', { ...expected, secret: undefined })).toMatchObject({ valid: false, claims: null })
})

test('a token that is refused is shown all the same, as far as it can be read', () => {
  const [header, , signature] = good.split('.')
  const forged = `${header}.${Buffer.from('{"uid":"x"}').toString('base64url')}.${signature}`
  expect(inspectToken(forged, expected)).toMatchObject({
    valid: false,
    claims: { uid: 'x' },
    checks: [{ name: 'size' }, { name: 'form' }, { name: 'header' }, { name: 'signature', code: 'TOKEN_SIGNATURE' }],
  })
})

test('without an app a token must agree with itself, and one without an app does', () => {
  expect(inspectToken(good, { ...expected, app: undefined }).valid).toBe(true)
  const other = tokens.find(({ result }) => result === 'TOKEN_AUDIENCE')!
  expect(inspectToken(other.token, { ...expected, app: undefined }).valid).toBe(true)
  const torn = tokens.find(({ name }) => name === 'aud fits, app_code does not')!
  expect(inspectToken(torn.token, { ...expected, app: undefined }).checks.at(-1)!.code).toBe('APP_MISMATCH')
})
