import { expect, test } from 'vitest'
import { BASE_PATH, listRoutes } from '../../packages/server/src/app.ts'
import { wordOf } from '../../packages/server/src/errors.ts'
import { errorsOf } from '../../packages/server/src/http/openapi.ts'
import { fixture, serviceFixture } from '../support/fixtures.ts'
import type { Json } from '../support/service.ts'

const service = serviceFixture()
const document: Json = fixture(async () => (await service.call('GET', '/openapi.json')).body)

// covers version-described
test('the document is OpenAPI 3.1 and lists every route with every status it answers', () => {
  expect(document.openapi).toMatch(/^3\.1\./)
  for (const route of listRoutes()) {
    const operation = document.paths[BASE_PATH + route.path]?.[route.method.toLowerCase()]
    expect(operation, `${route.method} ${route.path}`).toBeDefined()
    const statuses = [...Object.keys(route.responses), ...[...errorsOf(route).keys()].map(String)]
    expect(Object.keys(operation.responses).sort()).toEqual([...new Set(statuses)].sort())
    const others = route.speaks === 'oauth' ? [{ basic: [] }, {}] : []
    expect(operation.security).toEqual(route.auth === 'public' ? [] : [{ bearer: [] }, ...others])
    const params = (operation.parameters ?? []).filter((each: Json) => each.in === 'path').map((each: Json) => `{${each.name}}`)
    expect(params.sort()).toEqual((route.path.match(/\{\w+\}/g) ?? []).sort())
  }
})

test('operation ids are unique, and every reference can be resolved', () => {
  const operations: Json[] = Object.values(document.paths).flatMap((path) => Object.values(path as Json))
  const ids = operations.map((operation) => operation.operationId)
  expect(new Set(ids).size).toBe(ids.length)
  for (const [, kind, name] of JSON.stringify(document).matchAll(/"\$ref":"#\/components\/(\w+)\/([^"]+)"/g)) {
    expect(document.components[kind!]).toHaveProperty([name!])
  }
})

test('every route names its error codes by status', () => {
  for (const route of listRoutes()) {
    const { responses } = document.paths[BASE_PATH + route.path][route.method.toLowerCase()]
    for (const [status, codes] of errorsOf(route)) {
      expect(responses[status]).toEqual({ $ref: `#/components/responses/${codes.join('.')}` })
      const { description } = document.components.responses[codes.join('.')]
      expect(description).toBe([...new Set(codes.map((code) => `\`${wordOf(code)}\``))].join(', '))
    }
  }
})

test('an admin body excludes additional members, and a public body allows them', () => {
  const bodyOf = (path: string) => {
    const { $ref } = document.paths[BASE_PATH + path].post.requestBody.content['application/json'].schema
    return document.components.schemas[$ref.split('/').at(-1)]
  }
  expect(bodyOf('/admin/apps').additionalProperties).toBe(false)
  expect(bodyOf('/admin/apps').required.sort()).toEqual(['code', 'name'])
  expect(bodyOf('/auth/login').additionalProperties).not.toBe(false)
  expect(bodyOf('/auth/login').required.sort()).toEqual(['email', 'password'])
})

test('each query parameter has one type wherever it is used', () => {
  const operations: Json[] = Object.values(document.paths).flatMap((path) => Object.values(path as Json))
  const parameters: Json[] = operations.flatMap(({ parameters }) => parameters ?? []).filter((each) => each.in === 'query')
  const schemasOf = (...names: string[]) =>
    new Set(
      parameters
        .filter(({ name }) => names.includes(name))
        .map(({ schema: { description: _, ...rest } }) => JSON.stringify(rest)),
    )
  expect([...schemasOf('limit')]).toEqual(['{"type":"integer","minimum":1,"maximum":200}'])
  expect([...schemasOf('dry_run', 'force', 'erase', 'claim_unverified')]).toEqual(['{"type":"boolean"}'])
  for (const { name, schema } of parameters) {
    expect(schema.anyOf, name).toBeUndefined()
    expect(JSON.stringify(schema.enum ?? []), name).not.toContain('"true"')
  }
})

test('introspection lists every way to authenticate', () => {
  const { requestBody } = document.paths[`${BASE_PATH}/auth/introspect`].post
  expect(document.components.securitySchemes).toMatchObject({ bearer: { scheme: 'bearer' }, basic: { scheme: 'basic' } })
  const { $ref } = requestBody.content['application/x-www-form-urlencoded'].schema
  expect(Object.keys(document.components.schemas[$ref.split('/').at(-1)].properties)).toContain('client_secret')
})

test('the described answers contain no secret', () => {
  const { App, User } = document.components.schemas
  expect(JSON.stringify([App, User])).not.toMatch(/"(secret|secret_box|password|password_hash)"/)
})

test('the document is public and always the same', async () => {
  const again = await service.call('GET', '/openapi.json', { token: 'garbage' })
  expect(again.status).toBe(200)
  expect(again.body).toEqual(document)
})
