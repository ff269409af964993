// `GET /docs`, a readable reference that loads nothing from another host; test/e2e/api-reference.test.ts opens it in a browser.
import { beforeAll, describe, expect, test } from 'vitest'
import { expectError } from '../support/expect-reply.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { rawCall } from '../support/raw-http.ts'
import { buildService, callHttp, type Reply, type TestService } from '../support/service.ts'

const assets = { 'init.js': 'text/javascript', 'swagger-ui-bundle.js': 'text/javascript', 'swagger-ui.css': 'text/css' }
let service: TestService
let reply: Reply
let page: string
beforeAll(async () => {
  service = await buildService({ PUBLIC_URL: 'https://auth.acme.test' }, onFileEnd)
  reply = await get('/docs')
  page = reply.body
})

const get = (path: string, headers: Record<string, string> = {}) => callHttp(service.url + path, 'GET', { headers })

test('a person who opens the service reads what it is, and a program gets 404 at the root', async () => {
  const browser = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }
  for (const method of ['GET', 'HEAD']) {
    const led = await rawCall(service.url, method, '/', { headers: { ...browser, host: 'evil.test' } })
    expect([led.status, led.headers.get('vary')]).toEqual([200, expect.stringContaining('Accept')])
    if (method === 'GET') expect(led.body).toContain('open the app that you want to use')
  }
  const long = `text/html${';a=b'.repeat(300)}`
  for (const accept of [undefined, '*/*', 'application/json', 'application/json, text/html;q=0.5', long]) {
    const reply = await rawCall(service.url, 'GET', '/', accept === undefined ? {} : { headers: { accept } })
    expectError(reply, 'not_found')
    expect(reply.headers.get('vary')).toContain('Accept')
  }
  expectError(await rawCall(service.url, 'POST', '/', { headers: browser }), 'not_found')
  expectError(await rawCall(service.url, 'GET', '//', { headers: browser }), 'not_found')
})

describe('the page of the API reference', () => {
  test('the page names no other host, has no script or style of its own, and uses only the files below it', () => {
    expect(reply.status).toBe(200)
    expect(reply.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(page).not.toMatch(/<style|<img|<iframe|<form|@import|url\(|\son\w+=|\sstyle=|javascript:|\w:\/\//i)
    for (const [, inside] of page.matchAll(/<script[^>]*>([\s\S]*?)<\/script>/g)) expect(inside).toBe('')
    const links = [...page.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, link]) => link!)
    const files = Object.keys(assets).map((file) => `/docs/${file}`)
    expect(links.sort()).toEqual(['/api/v1/openapi.json', ...files])
  })

  test('the page has a policy that allows what this server sends and nothing inline', () => {
    expect(reply.headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'",
    )
    expect(reply.headers.get('x-content-type-options')).toBe('nosniff')
    expect(reply.headers.get('x-frame-options')).toBe('DENY')
    expect(reply.headers.get('referrer-policy')).toBe('no-referrer')
  })

  test('the page is the same for everyone, is outside the API, and accepts only GET', async () => {
    expect((await callHttp(`${service.url}/docs`, 'GET', { token: 'garbage', headers: { host: 'evil.test' } })).body).toBe(page)
    expectError(await callHttp(`${service.url}/docs`, 'POST', { body: {} }), 'method_not_allowed')
    expectError(await get('/docs/'), 'not_found')
    expectError(await service.call('GET', '/docs'), 'not_found')
  })
})

describe('the files of the API reference', () => {
  test.each(Object.entries(assets))('%s is complete, has its type, and is sent again only after a change', async (file, type) => {
    const whole = await get(`/docs/${file}`)
    expect(whole.status).toBe(200)
    expect(whole.headers.get('content-type')).toBe(`${type}; charset=utf-8`)
    expect(whole.headers.get('x-content-type-options')).toBe('nosniff')
    expect(whole.headers.get('cache-control')).toBe('public, max-age=300')
    expect(whole.body.length).toBeGreaterThan(file === 'init.js' ? 100 : 100_000)

    const etag = whole.headers.get('etag')!
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`]) {
      const again = await get(`/docs/${file}`, { 'if-none-match': known })
      expect([again.status, again.body, again.headers.get('etag')]).toEqual([304, '', etag])
      expect(again.headers.get('cache-control')).toBe('public, max-age=300')
    }
    expect((await get(`/docs/${file}`, { 'if-none-match': '"other"' })).body).toBe(whole.body)
    const head = await rawCall(service.url, 'HEAD', `/docs/${file}`)
    expect([head.status, head.body, head.headers.get('etag')]).toEqual([200, '', etag])
  })

  test('no other files exist below the page, and they accept only GET', async () => {
    for (const file of ['package.json', 'swagger-ui.js', 'toString', '..%2Fpackage.json', '%2e%2e%2f%2e%2e%2fpackage.json'])
      expectError(await get(`/docs/${file}`), 'not_found')
    expectError(await callHttp(`${service.url}/docs/init.js`, 'POST', { body: {} }), 'method_not_allowed')
  })

  test('the page does not let another host validate the document', async () => {
    const { body } = await get('/docs/init.js')
    expect(body).toContain('validatorUrl: null')
    expect(body).toContain("url: '/api/v1/openapi.json'")
    expect(body).not.toMatch(/\w:\/\//)
  })
})
