import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { buildAuth, createKid } from './test-tokens.ts'

interface Vectors {
  now: number
  clock_tolerance_seconds: number
  issuer: string
  app_code: string
  app_id: string
  secret: string
  secret_previous: string
  kid: string
  kid_previous: string
  tokens: { name: string; result: string; token: string }[]
}

const page = readFileSync(new URL('../../../docs/guard-a-backend/tokens.md', import.meta.url), 'utf8')
const vectors: Vectors = JSON.parse(/```json\n(.*?)```/s.exec(page)![1]!)
const options = {
  now: () => vectors.now * 1000,
  clockToleranceSec: vectors.clock_tolerance_seconds,
  issuer: vectors.issuer,
  appCode: vectors.app_code,
  appId: vectors.app_id,
  secret: [vectors.secret, vectors.secret_previous],
} as const

test('docs/guard-a-backend/tokens.md gives the right kids for its secrets', () => {
  expect([createKid(vectors.secret), createKid(vectors.secret_previous)]).toEqual([vectors.kid, vectors.kid_previous])
  expect(buildAuth(options).health().kids).toEqual([vectors.kid, vectors.kid_previous])
})

test.each(vectors.tokens)(
  'verification agrees with docs/guard-a-backend/tokens.md: $name, $result',
  async ({ token, result }) => {
    for (const platform of ['node', 'web'] as const) {
      const outcome = await buildAuth(options, platform).safeVerify(token)
      expect(outcome.ok ? 'ok' : outcome.error.code).toBe(result)
    }
  },
)

test('docs/guard-a-backend/tokens.md names each code that a token can be refused with', () => {
  const named = [
    'TOO_LARGE',
    'MALFORMED',
    'ALG',
    'SIGNATURE',
    'CLAIMS',
    'EXPIRED',
    'NOT_YET_VALID',
    'ISSUER',
    'AUDIENCE',
    'REVOKED',
  ]
  for (const code of [...named.map((name) => `TOKEN_${name}`), 'APP_MISMATCH']) expect(page).toContain(`\`${code}\``)
})
