import { expect, test } from 'vitest'
import { AuthError } from './errors.ts'

test('AuthError.is recognizes errors of another copy of the package, and nothing else', async () => {
  const other = './errors.ts?copy'
  const copy: typeof import('./errors.ts') = await import(other)
  expect(copy.AuthError).not.toBe(AuthError)
  const error: unknown = new copy.AuthError('TOKEN_EXPIRED')
  expect(error instanceof AuthError).toBe(false)
  expect(AuthError.is(error)).toBe(true)
  expect(AuthError.is(error, 'TOKEN_EXPIRED')).toBe(true)
  expect(AuthError.is(error, 'TOKEN_REVOKED')).toBe(false)
  for (const thing of [new Error('TOKEN_EXPIRED'), { code: 'TOKEN_EXPIRED' }, 'TOKEN_EXPIRED', null, undefined]) {
    expect(AuthError.is(thing)).toBe(false)
  }
})

test('the status follows the code', () => {
  expect(new AuthError('TOKEN_ALG').status).toBe(401)
  expect(new AuthError('APP_MISMATCH').status).toBe(401)
  expect(new AuthError('PERMISSION_DENIED').status).toBe(403)
  expect(new AuthError('REVOCATION_UNAVAILABLE')).toMatchObject({ status: 503, retryable: true })
  expect(new AuthError('SERVICE_UNREACHABLE')).toMatchObject({ status: 503, retryable: true })
})

test('the challenge names an error only when a token was sent', () => {
  expect(new AuthError('TOKEN_MISSING').headers).toEqual({ 'WWW-Authenticate': 'Bearer realm="gatehouse"' })
  expect(new AuthError('TOKEN_EXPIRED').headers).toEqual({
    'WWW-Authenticate': 'Bearer realm="gatehouse", error="invalid_token"',
  })
  expect(new AuthError('CONFIG_INVALID').headers).toEqual({})
})

test('the JSON of an error leaves out the hint, which is for the log', () => {
  const error = new AuthError('TOKEN_ISSUER', { hint: 'JWT_ISSUER is "gatehouse" here', requestId: 'r-1' })
  expect(error.hint).toContain('JWT_ISSUER')
  expect(JSON.parse(JSON.stringify(error))).toEqual({
    name: 'AuthError',
    code: 'TOKEN_ISSUER',
    status: 401,
    message: 'token issuer',
    requestId: 'r-1',
  })
  expect(Object.keys(new AuthError('TOKEN_ALG'))).not.toContain('hint')
})
