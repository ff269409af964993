import { describe, expect, test } from 'vitest'
import { expectError, faultsOf } from '../support/expect-reply.ts'
import { appFixture, serviceFixture } from '../support/fixtures.ts'
import { buildApp, someEmail } from '../support/service.ts'

// Which redirect URLs an app may list. How a URL is matched against them is tested next to lib/redirect-url.ts.

const service = serviceFixture()

test.each([
  'https://app.example.com',
  'https://app.example.com/',
  'https://app.example.com/cb?x=1&y=2',
  'https://app.example.com/*',
  'https://app.example.com/app/*',
  'https://app.example.com/app*',
  'https://app.example.com/?next=*',
  'http://localhost:3000/cb',
  'http://127.0.0.1:8080/*',
  'http://[::1]:3000/cb',
  'HTTPS://App.Example.COM/CB',
  'https://app.example.com/%20',
  'https://app.example.com/ü',
  'https://bücher.example/cb',
  'com.example.app:/cb',
  'com.example.app://cb/x?y=z',
  'com.example.my-app:/cb',
])('%s is accepted as a rule and kept as given', async (rule) => {
  expect((await buildApp(service, { allowed_redirect_urls: [rule] })).allowed_redirect_urls).toEqual([rule])
})

// covers app-create-refusals
test.each([
  '',
  '*',
  'https://*',
  'https://*/',
  'https://*.example.com/',
  'https://app.example.com*',
  'https://app.example.com:*/',
  'https://app.example.com/*/cb',
  'https://app.example.com/**',
  'https://app.example.com/*?x=*',
  'https://app.example.com/*#',
  'https://app.example.com/#frag',
  'https://app.example.com/#',
  'https://user@app.example.com/',
  'https://user:pass@app.example.com/',
  'https://@app.example.com/',
  'https://app.example.com\\@evil.example/',
  'https://app.example.com/a\\b',
  'https://app.example.com/../x',
  'https://app.example.com/./x',
  'https://app.example.com/x/..',
  'https://app.example.com/..*',
  'https://app.example.com/%2e%2e/x',
  'https://app.example.com/.%2E/*',
  'https://app.example.com/%2f%2e%2e%2fx',
  'https://app.example.com/%252e%252e/x',
  'https://app.example.com/%25252e./*',
  'https://app.example.com/..%252fx',
  'https://app.example.com/..;/x',
  'https://app.example.com/..;a=b/*',
  'https://app.example.com/..%3b/x',
  'https://app.example.com/.;',
  ' https://app.example.com/',
  'https://app.example.com/ ',
  'https://app.example.com/a b',
  'https://app.example.com/\t',
  'https://app.example.com/\n',
  'ht\ntps://app.example.com/',
  'https://app.example.com/\u007f',
  'https:app.example.com/',
  'https:/app.example.com/',
  'https:///app.example.com/',
  'https://',
  'https:///',
  'https://app.example.com:99999/',
  'https://exa mple.com/',
  '//app.example.com/cb',
  '/cb',
  'cb',
  'app.example.com/cb',
  'localhost:3000/cb',
  'javascript:alert(1)',
  'JavaScript:alert(1)//.',
  'data:text/html,x',
  'data:text/html;a.b,x',
  'vbscript:x',
  'file:///etc/passwd',
  'ftp://app.example.com/',
  'blob:https://app.example.com/x',
  'about:blank',
  'myapp:/cb',
  'com.example.app:/*',
  'com.example.app:/cb*',
  'com.example.app:/cb#x',
  'com.example.app://user@host/cb',
  '.com:/cb',
  '1com.example:/cb',
])('%j is refused as a rule', async (rule) => {
  const reply = await service.admin('POST', '/admin/apps', {
    body: { code: 'never', name: 'Never', allowed_redirect_urls: ['https://fine.example/', rule] },
  })
  expectError(reply, 'validation_failed')
  expect(faultsOf(reply)).toEqual(['allowed_redirect_urls.1: invalid_value'])
})

describe('redirect URLs of a request', () => {
  const app = appFixture(service, { allowed_redirect_urls: ['https://app.example.com/app/*'] })
  const ask = (redirect_url: string) =>
    service.call('POST', '/auth/password/forgot', { body: { email: someEmail(), app_code: app.code, redirect_url } })

  test.each([
    'https://app.example.com/app/../admin',
    'https://app.example.com/app/..;/admin',
    'https://app.example.com/app/..;x=1/admin',
    'https://app.example.com/app/%252e%252e/admin',
    'https://app.example.com/app/%25252e%25252e%252fadmin',
    'https://app.example.com/app/..%253b/admin',
  ])('a URL does not leave a rule that ends in *: %s', async (candidate) => {
    const reply = await ask(candidate)
    expectError(reply, 'validation_failed')
    expect(faultsOf(reply)).toEqual(['redirect_url: invalid_value'])
  })

  test('a URL matches a rule that ends in * if it stays below it', async () => {
    for (const path of ['x;v=1/y', '100%25', 'x..;y']) expect((await ask(`https://app.example.com/app/${path}`)).status).toBe(202)
  })
})

test('a rule is a string of at most 2,000 characters, and an app has at most 200', async () => {
  const longest = `https://app.example.com/${'x'.repeat(2_000 - 'https://app.example.com/'.length)}`
  const most = Array.from({ length: 200 }, (_, index) => `https://app.example.com/${index}`)
  for (const urls of [[longest], most])
    expect((await buildApp(service, { allowed_redirect_urls: urls })).allowed_redirect_urls).toEqual(urls)
  const faulty: [unknown, string][] = [
    [[`${longest}x`], 'allowed_redirect_urls.0: too_long'],
    [[...most, 'https://app.example.com/201'], 'allowed_redirect_urls: too_long'],
    [[5], 'allowed_redirect_urls.0: invalid_type'],
    [[null], 'allowed_redirect_urls.0: invalid_type'],
    [[['https://app.example.com/']], 'allowed_redirect_urls.0: invalid_type'],
    ['https://app.example.com/', 'allowed_redirect_urls: invalid_type'],
  ]
  for (const [urls, fault] of faulty) {
    const reply = await service.admin('POST', '/admin/apps', {
      body: { code: 'never', name: 'Never', allowed_redirect_urls: urls },
    })
    expectError(reply, 'validation_failed')
    expect(faultsOf(reply)).toContain(fault)
  }
})

test('a write of only rules that end in * warns that the sign-in page cannot use them', async () => {
  const app = await buildApp(service, { allowed_redirect_urls: ['https://shop.example/*'] })
  expect(app.warnings).toEqual([{ code: 'redirect_urls_prefixes_only', message: expect.any(String) }])
  const write = async (urls: string[]) =>
    (await service.admin('PATCH', `/admin/apps/${app.id}`, { body: { allowed_redirect_urls: urls } })).body.warnings
  expect(await write(['https://shop.example/*', 'https://shop.example/callback'])).toBeUndefined()
})
