import { describe, expect, test } from 'vitest'
import { Failure } from './exit-codes.ts'
import { isReadableOnTheWay, normalizeBaseUrl, placeOf, resolveConnection } from './settings.ts'

const file = {
  version: 1 as const,
  current: 'one',
  contexts: {
    one: { base_url: 'http://one.example', email: null, tokens: null },
    two: { base_url: 'http://two.example', email: null, tokens: null },
  },
}
const nothing = { context: undefined, baseUrl: undefined, tokenFile: undefined }

describe('the address of the service', () => {
  test.each([
    ['http://127.0.0.1:4000', 'http://127.0.0.1:4000'],
    ['http://127.0.0.1:4000/', 'http://127.0.0.1:4000'],
    ['HTTPS://Auth.Example.com:443/api/v1//', 'https://auth.example.com'],
    ['https://example.com/auth/api/v1', 'https://example.com/auth'],
  ])('%s is normalized to %s', (typed, normal) => {
    expect(normalizeBaseUrl(typed)).toBe(normal)
  })

  test.each(['', 'auth.example.com', 'ftp://x', 'https://u:p@x', 'https://x?y', 'https://x#y'])(
    '%s is refused as the address of the service',
    (typed) => {
      expect(() => normalizeBaseUrl(typed)).toThrow(Failure)
    },
  )
})

describe('the choice of a context', () => {
  test('a flag comes before the environment, then the current context, then "default"', () => {
    const name = (context: string | undefined, env: Record<string, string>, from = file) =>
      resolveConnection({ ...nothing, context }, env, from).contextName
    expect(name('two', { AUTHCTL_CONTEXT: 'one' })).toBe('two')
    expect(name(undefined, { AUTHCTL_CONTEXT: 'two' })).toBe('two')
    expect(name(undefined, { AUTHCTL_CONTEXT: '' })).toBe('one')
    expect(resolveConnection(nothing, {}, { version: 1, current: null, contexts: {} })).toMatchObject({
      contextName: 'default',
      context: undefined,
      baseUrl: 'http://127.0.0.1:4000',
    })
  })

  test('the address in a flag overrides the one in the environment', () => {
    const url = (baseUrl: string | undefined, env: Record<string, string>) =>
      resolveConnection({ ...nothing, baseUrl }, env, file).baseUrl
    expect(url('http://flag', { AUTHCTL_BASE_URL: 'http://env' })).toBe('http://flag')
    expect(url(undefined, { AUTHCTL_BASE_URL: 'http://env' })).toBe('http://env')
    expect(url(undefined, {})).toBe('http://one.example')
  })

  test('a named context must exist, unless the command is about to create it', () => {
    for (const name of ['three', 'constructor']) {
      expect(() => resolveConnection({ ...nothing, context: name }, {}, file)).toThrow(expect.objectContaining({ exit: 3 }))
      expect(resolveConnection({ ...nothing, context: name }, {}, file, { mayBeNew: true }).context).toBe(undefined)
    }
  })

  test('a token that no header can hold is refused, and the message does not repeat it', () => {
    expect(() => resolveConnection(nothing, { AUTHCTL_TOKEN: 'a\nb' }, file)).toThrow(
      expect.objectContaining({ exit: 6, message: 'AUTHCTL_TOKEN does not contain a token' }),
    )
  })
})

test('a question names the context and its address, or only the address if a flag overrides it', () => {
  expect(placeOf(resolveConnection(nothing, {}, file))).toBe('in one (http://one.example)')
  expect(placeOf(resolveConnection({ ...nothing, baseUrl: 'http://flag' }, {}, file))).toBe('at http://flag')
})

test('plain http to another machine counts as readable on the way', () => {
  const readable = ['http://auth.example.com', 'http://10.0.0.1:4000', 'http://localhost.example.com']
  const others = [
    'https://auth.example.com',
    'http://localhost:4000',
    'http://127.0.0.2',
    'http://[::1]:4000',
    'http://a.localhost',
  ]
  expect([...readable, ...others].filter(isReadableOnTheWay)).toEqual(readable)
})
