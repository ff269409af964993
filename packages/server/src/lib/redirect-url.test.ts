import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { hostileRedirects, redirectRules } from '../../../../test/support/hostile-redirects.ts'
import { hasAnswerMember, isExactRedirectUrl, matchesRedirectUrl, redirectRuleFault, withAnswer } from './redirect-url.ts'

// Which rules an app may have is tested through the API, in test/contract/redirect-urls.test.ts.

describe('an exact rule', () => {
  const rule = 'https://app.example.com/cb'

  test('an exact rule matches itself', () => {
    expect(matchesRedirectUrl(rule, [rule])).toBe(true)
    expect(matchesRedirectUrl(rule, ['https://other.example/', rule])).toBe(true)
  })

  // covers redirect-exact
  test.each([
    'https://app.example.com/cb/',
    'https://app.example.com/cb?',
    'https://app.example.com/cb?x=1',
    'https://app.example.com/cb#',
    'https://app.example.com/CB',
    'https://APP.example.com/cb',
    'HTTPS://app.example.com/cb',
    'http://app.example.com/cb',
    'https://app.example.com:443/cb',
    'https://app.example.com./cb',
    'https://app.example.com//cb',
    'https://app.example.com/c%62',
    'https://app.example.com/x/../cb',
    ' https://app.example.com/cb',
    'https://app.example.com/cb\n',
    'https://app.exam\tple.com/cb',
    'https://app.example.com/cb\u200b',
    'https://app.example.com.evil.example/cb',
    'https://evil.example/https://app.example.com/cb',
    'https://user@app.example.com/cb',
    'https:/app.example.com/cb',
    'https:app.example.com/cb',
    '//app.example.com/cb',
    '/cb',
    '',
  ])('an exact rule does not match %j', (candidate) => {
    expect(matchesRedirectUrl(candidate, [rule])).toBe(false)
  })

  // covers redirect-exact
  test('an exact rule without a path matches only a URL without a path', () => {
    expect(matchesRedirectUrl('https://app.example.com', ['https://app.example.com'])).toBe(true)
    expect(matchesRedirectUrl('https://app.example.com/', ['https://app.example.com'])).toBe(false)
    expect(matchesRedirectUrl('https://app.example.com', ['https://app.example.com/'])).toBe(false)
  })
})

describe('a rule that ends in *', () => {
  const rules = ['https://app.example.com/app/*']

  // covers redirect-wildcard app-redirects-wildcard
  test.each([
    'https://app.example.com/app/',
    'https://app.example.com/app/x',
    'https://app.example.com/app/x/y?z=/../&u=https://a@b',
    'https://app.example.com/app/@x',
    'https://app.example.com/app/a:b',
    'https://app.example.com/app/...',
    'https://app.example.com/app/100%25',
    'https://app.example.com/app/100%2525/x',
    'https://app.example.com/app/x;v=1/y',
    'https://app.example.com/app/...;x',
    'https://app.example.com/app/x..;y',
    'https://app.example.com/app/.well-known/x',
    'https://app.example.com/app/x..y/..z',
    'https://app.example.com/app/ü/💡',
    'https://app.example.com/app/*',
    'https://app.example.com/app//x',
  ])('a wildcard rule matches %s', (candidate) => {
    expect(matchesRedirectUrl(candidate, rules)).toBe(true)
  })

  test.each([
    'https://app.example.com/app',
    'https://app.example.com/App/x',
    'https://app.example.com/other',
    'https://app.example.com.evil.example/app/x',
    'https://evil.example/app/x',
    'https://app.example.com/app/../admin',
    'https://app.example.com/app/x/../../admin',
    'https://app.example.com/app/..',
    'https://app.example.com/app/.',
    'https://app.example.com/app/./x',
    'https://app.example.com/app/%2e%2e/admin',
    'https://app.example.com/app/%2E%2E/admin',
    'https://app.example.com/app/.%2e/admin',
    'https://app.example.com/app/%2e./admin',
    'https://app.example.com/app/%2e',
    'https://app.example.com/app/%2f%2e%2e%2fadmin',
    'https://app.example.com/app/%2f..%2fadmin',
    'https://app.example.com/app/..%2fadmin',
    'https://app.example.com/app/x%2F..',
    'https://app.example.com/app/%5c..%5cadmin',
    'https://app.example.com/app/..%5Cadmin',
    'https://app.example.com/app/..?x',
    'https://app.example.com/app/%252e%252e/admin',
    'https://app.example.com/app/%25252E%25252E/admin',
    'https://app.example.com/app/..%252fadmin',
    'https://app.example.com/app/%252f..%252fadmin',
    'https://app.example.com/app/%255c..%255cadmin',
    'https://app.example.com/app/..;/admin',
    'https://app.example.com/app/..;x=1/admin',
    'https://app.example.com/app/..;',
    'https://app.example.com/app/.;/admin',
    'https://app.example.com/app/..%3b/admin',
    'https://app.example.com/app/%2e%2e%3Bx/admin',
    'https://app.example.com/app/%252e%252e%253b/admin',
    'https://app.example.com/app/\\..\\admin',
    'https://app.example.com/app/..\\admin',
    'https://app.example.com/app/x#token',
    'https://app.example.com/app/x y',
    'https://app.example.com/app/\t',
    'https://app.example.com/app/.\t./admin',
    'https://app.example.com/app/\r\nSet-Cookie: x',
    'https://app.example.com/app/\u0000',
    'https://app.example.com/app/\u0085',
    'https://app.example.com\\@evil.example/app/',
  ])('a wildcard rule does not match %j', (candidate) => {
    expect(matchesRedirectUrl(candidate, rules)).toBe(false)
  })

  test('a wildcard rule at the origin matches every URL of that origin and no other', () => {
    const origin = ['https://app.example.com/*']
    expect(matchesRedirectUrl('https://app.example.com/any', origin)).toBe(true)
    for (const candidate of [
      'https://app.example.com',
      'https://app.example.com:444/any',
      'https://app.example.community/',
      'https://app.example.com@evil.example/',
      'https://app.example.com%2f@evil.example/',
    ]) {
      expect(matchesRedirectUrl(candidate, origin)).toBe(false)
    }
  })

  // covers app-redirects-wildcard
  test('a wildcard rule is a prefix of characters, not of segments', () => {
    expect(matchesRedirectUrl('https://app.example.com/apple', ['https://app.example.com/app*'])).toBe(true)
    expect(matchesRedirectUrl('https://app.example.com/?next=/x', ['https://app.example.com/?next=*'])).toBe(true)
  })

  // covers redirect-wildcard app-redirects-wildcard
  test('whatever follows an allowed prefix, the browser stays on its origin and below its path', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        fc.array(fc.constantFrom('..', '.', '%2e', '%2E.', '/', '\\', '%2f', '@', ':', '?', '#', '\t', 'x'), { maxLength: 8 }),
        (text, pieces) => {
          for (const candidate of [`https://app.example.com/app/${text}`, `https://app.example.com/app/${pieces.join('')}`]) {
            if (!matchesRedirectUrl(candidate, rules)) continue
            const url = new URL(candidate)
            expect(url.origin).toBe('https://app.example.com')
            expect(url.username + url.password + url.hash).toBe('')
            expect(url.pathname.startsWith('/app/')).toBe(true)
            expect(
              new URL(decodeURIComponent(url.pathname.replace(/%(?![0-9a-f]{2})/gi, '%25')).replace(/\\/g, '/'), 'https://x')
                .pathname,
            ).toMatch(/^\/app\//)
          }
        },
      ),
      { numRuns: 2_000 },
    )
  })
})

describe('a private scheme in a rule', () => {
  test('a rule with a private scheme matches only the exact URL', () => {
    expect(matchesRedirectUrl('com.example.app:/cb', ['com.example.app:/cb'])).toBe(true)
    for (const candidate of [
      'com.example.app:/cb2',
      'com.example.app:/',
      'COM.example.app:/cb',
      'com.example.app://cb',
      'com.example.app:/cb?x',
    ]) {
      expect(matchesRedirectUrl(candidate, ['com.example.app:/cb'])).toBe(false)
    }
  })

  test('a scheme without a dot is refused, whatever the rules say', () => {
    for (const candidate of ['javascript:alert(1)', 'data:text/html,x', 'vbscript:x', 'file:///etc/passwd']) {
      expect(redirectRuleFault(candidate)).toEqual(expect.any(String))
      expect(matchesRedirectUrl(candidate, ['https://app.example.com/*', 'com.example.app:/cb'])).toBe(false)
    }
  })
})

test('an empty list of rules matches nothing', () => {
  expect(matchesRedirectUrl('https://app.example.com/', [])).toBe(false)
})

test('an accepted rule matches itself, and the fault of a refused rule never repeats it', () => {
  const pieces = fc.constantFrom(
    'https://',
    'http:',
    '//',
    'a.example',
    '/',
    '..',
    '%2e',
    '*',
    '?',
    '#',
    '@',
    '\\',
    ' ',
    'x',
    ':',
    'com.app:',
    '\n',
  )
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 8 }), (parts) => {
      const rule = parts.join('')
      if (redirectRuleFault(rule) === undefined) expect(matchesRedirectUrl(rule, [rule])).toBe(true)
    }),
    { numRuns: 3_000 },
  )
})

describe('the redirect URL of an authorization request', () => {
  test.each(redirectRules.filter((rule) => !rule.endsWith('*')))('%s is accepted as a redirect URL', (rule) => {
    expect(isExactRedirectUrl(rule, redirectRules)).toBe(true)
  })

  test.each(['http://127.0.0.1:1/cb', 'http://127.0.0.1:54321/cb', 'http://[::1]:54321/cb', 'http://127.0.0.1:8080/fixed'])(
    '%s is accepted, since the rule names no port or this one',
    (candidate) => {
      expect(isExactRedirectUrl(candidate, redirectRules)).toBe(true)
    },
  )

  test.each(hostileRedirects)('%j is refused as a redirect URL', (candidate) => {
    expect(isExactRedirectUrl(candidate, redirectRules)).toBe(false)
  })

  test.each([
    'https://shop.example/cb?code=1',
    'https://shop.example/cb?x=1&state=',
    'https://shop.example/cb?%63ode=1',
    'https://shop.example/cb?iss',
    'https://shop.example/cb?error=x&error_description=y',
  ])('%s already has a parameter of the answer', (url) => {
    expect(hasAnswerMember(url)).toBe(true)
  })

  test('an answer is added to the URL without changing it, and cannot add another parameter', () => {
    const state = 'a&code=evil#x=1\r\nLocation: https://evil.example/'
    const url = withAnswer('https://shop.example/fixed?tenant=1', { code: 'right', state, iss: 'https://login.example' })
    expect(url).toMatch(/^https:\/\/shop\.example\/fixed\?tenant=1&code=right&state=/)
    const { searchParams, hash } = new URL(url)
    expect(searchParams.getAll('code')).toEqual(['right'])
    expect(searchParams.get('state')).toBe(state)
    expect(hash).toBe('')
  })
})
