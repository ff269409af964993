// decisions 1: `GET /docs`, a readable reference that loads nothing from another host.
import { createHash } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { BASE_PATH, listRoutes } from '../../packages/server/src/app.ts'
import { errorCodes } from '../../packages/server/src/errors.ts'
import { errorsOf } from '../../packages/server/src/http/openapi.ts'
import { expectError } from '../support/expect-reply.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { buildService, callHttp, type Json, type Reply, type TestService } from '../support/service.ts'

const publicUrl = 'https://auth.acme.test'
let service: TestService
let reply: Reply
let page: string
beforeAll(async () => {
  service = await buildService({ PUBLIC_URL: publicUrl }, onFileEnd)
  reply = await callHttp(`${service.url}/docs`, 'GET')
  page = reply.body
})

const needs = {
  public: 'Needs no token',
  user: 'Needs an access token',
  system_admin: 'Needs an access token of a system_admin',
  service: 'Needs the token of a service account',
  consumer: 'Needs the assertion of a consumer',
  consumer_or_service_account: 'Needs the assertion of a consumer, or the token of a service account',
}

const plain = (markup: string) =>
  markup.replace(/<[^>]+>/g, '').replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)))

/** The part of the page about one route, as text and as markup. */
async function partsOf(document: Json): Promise<Map<string, { markup: string; text: string }>> {
  const parts = new Map<string, { markup: string; text: string }>()
  for (const [path, operations] of Object.entries(document.paths as Json)) {
    for (const [method, { operationId }] of Object.entries(operations as Json) as [string, Json][]) {
      const from = page.indexOf(`<article id="${operationId}">`)
      expect(from, operationId).toBeGreaterThan(0)
      const markup = page.slice(from, page.indexOf('</article>', from))
      parts.set(`${method.toUpperCase()} ${path}`, { markup, text: plain(markup) })
    }
  }
  return parts
}

test('every route is on the page with its path, its statuses and a link to each of its error codes', async () => {
  const { body: document } = await service.call('GET', '/openapi.json')
  const parts = await partsOf(document)
  for (const route of listRoutes()) {
    const { markup, text } = parts.get(`${route.method} ${BASE_PATH}${route.path}`)!
    expect(text).toContain(route.method + BASE_PATH + route.path)
    expect(text).toContain(needs[route.auth])
    for (const status of Object.keys(route.responses)) expect(markup).toContain(`<td>${status}</td>`)
    for (const codes of errorsOf(route).values()) for (const code of codes) expect(markup).toContain(`href="#error-${code}"`)
  }
  for (const code of Object.keys(errorCodes)) expect(page).toContain(`id="error-${code}"`)
})

test('every field of a body is told, those of objects inside it too', async () => {
  const { body: document } = await service.call('GET', '/openapi.json')
  const { text } = (await partsOf(document)).get('POST /api/v1/admin/apps')!
  for (const field of Object.keys(document.components.schemas.CreateApp.properties)) expect(text).toContain(field)
  expect(text).toContain('webhooks[].url')
  expect(text).toContain('No other members')
})

test('the body of every example is one that its route takes', async () => {
  const { body: document } = await service.call('GET', '/openapi.json')
  const parts = await partsOf(document)
  const withBody = listRoutes().filter((route) => route.body)
  expect(withBody.length).toBeGreaterThan(30)
  for (const route of withBody) {
    const name = `${route.method} ${BASE_PATH}${route.path}`
    const sample = / -d '(.*)'/.exec(parts.get(name)!.text)?.[1]
    const { success, error } = route.body!.safeParse(JSON.parse(sample!.replaceAll("'\\''", "'")))
    expect(success, `${name} ${sample} ${error?.message}`).toBe(true)
  }
})

test('every link on it leads somewhere on it, but the one to the document that it is made of', () => {
  const links = new Set([...page.matchAll(/href="([^"]*)"/g)].map(([, link]) => link!))
  for (const link of links) {
    if (link === '/api/v1/openapi.json') continue
    expect(link).toMatch(/^#/)
    expect(page.split(`id="${link.slice(1)}"`).length, link).toBe(2)
  }
})

test('it names no other host, holds no script, and its policy allows nothing but its own style', () => {
  expect(reply.status).toBe(200)
  expect(reply.headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect(page).not.toMatch(/<script|<link|<img|<iframe|<form|@import|url\(|\son\w+=|javascript:/i)
  const hosts = [...plain(page).matchAll(/https?:\/\/([\w.-]+)/g)].map(([, host]) => host!)
  expect(new Set(hosts.filter((host) => !/(^|\.)example\.com$/.test(host)))).toEqual(new Set(['auth.acme.test']))
  const style = /<style>([\s\S]*)<\/style>/.exec(page)![1]!
  const digest = createHash('sha256').update(style).digest('base64')
  expect(reply.headers.get('content-security-policy')).toBe(
    `default-src 'none'; style-src 'sha256-${digest}'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'`,
  )
  expect(page).not.toMatch(/\sstyle="/)
  expect(reply.headers.get('x-content-type-options')).toBe('nosniff')
})

test('it is the same for anyone, is no part of the API, and takes GET alone', async () => {
  expect((await callHttp(`${service.url}/docs`, 'GET', { token: 'garbage', headers: { host: 'evil.test' } })).body).toBe(page)
  expectError(await callHttp(`${service.url}/docs`, 'POST', { body: {} }), 'method_not_allowed')
  expectError(await callHttp(`${service.url}/docs/`, 'GET'), 'not_found')
  expectError(await service.call('GET', '/docs'), 'not_found')
})
