import { expect } from 'vitest'
import { type ErrorCode, errorCodes } from '../../packages/server/src/errors.ts'
import { oauthStatusOf } from '../../packages/server/src/http/speak/oauth.ts'
import type { Reply } from './service.ts'

const fieldErrorCodes = ['required', 'invalid_type', 'invalid_value', 'unknown_field', 'too_short', 'too_long', 'too_common']

/** Checks the headers that every answer has. */
export function expectHeaders({ headers, status }: Reply): void {
  expect(headers.get('x-request-id')).toMatch(/^[A-Za-z0-9._-]{1,128}$/)
  expect(headers.get('x-content-type-options')).toBe('nosniff')
  expect(headers.get('x-powered-by')).toBeNull()
  expect(headers.get('server')).toBeNull()
  expect(headers.get('set-cookie')).toBeNull()
  if (status !== 204) expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
}

/** Checks a whole error: status, code, exact members, headers. `label` says which of many requests it answered. */
export function expectError(reply: Reply, code: ErrorCode, label = ''): void {
  const { body, headers, status } = reply
  if (body.error !== undefined) expectOAuthMembers(body)
  if (body.error !== undefined && body.title === undefined) {
    expectOAuthError(reply, code, label)
    return
  }
  expect({ status, code: body.code, label }).toEqual({ status: errorCodes[code].status, code, label })
  expectHeaders(reply)
  expect(Object.keys(body).sort()).toEqual(
    [
      ...['code', 'detail', 'request_id', 'status', 'title'],
      ...(code === 'validation_failed' ? ['errors'] : []),
      ...(body.error === undefined ? [] : ['error', 'error_description']),
    ].sort(),
  )
  expect(body).toMatchObject({ status, code, title: expect.any(String), request_id: headers.get('x-request-id') })
  expect(body.detail === null || typeof body.detail === 'string').toBe(true)
  if (code === 'validation_failed') {
    expect(body.errors.length).toBeGreaterThan(0)
    for (const error of body.errors) {
      expect(Object.keys(error).sort()).toEqual(['code', 'message', 'path'])
      expect(fieldErrorCodes).toContain(error.code)
    }
  }
  // RFC 6750: only the scheme and realm for a request without a token, `invalid_token` for a bad token.
  const challenge = headers.get('www-authenticate')
  if (code === 'token_missing') expect(challenge).toBe('Bearer realm="gatehouse"')
  else if (code.startsWith('token_')) expect(challenge).toMatch(/^Bearer realm="gatehouse", error="invalid_token"/)
  else expect(challenge).toBeNull()
  if ([423, 429, 503].includes(status)) expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
  else expect(headers.get('retry-after')).toBeNull()
}

function expectOAuthMembers(body: Reply['body']): void {
  expect(body.error).toMatch(/^[a-z_]+$/)
  expect(body.error_description).toMatch(/^[ !#-[\]-~]+$/)
}

/** An error as RFC 6749 says, with our code. */
function expectOAuthError({ body, headers, status }: Reply, code: ErrorCode, label: string): void {
  expect({ status, code: body.code, label }).toEqual({ status: oauthStatusOf(code), code, label })
  expect(Object.keys(body).sort()).toEqual(['code', 'error', 'error_description', 'request_id'])
  expect(body.request_id).toBe(headers.get('x-request-id'))
  expect(headers.get('www-authenticate')).toBe(status === 401 ? 'Basic realm="gatehouse"' : null)
}

/** The faults of a `validation_failed` as `path: code`, sorted. */
export function faultsOf({ body }: Reply): string[] {
  return (body.errors ?? []).map((error: { path: string; code: string }) => `${error.path}: ${error.code}`).sort()
}
