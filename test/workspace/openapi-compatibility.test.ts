// Clients of the API lose nothing unless a changeset names the call.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { lossesBetween } from '../support/openapi-compatibility.ts'
import type { Json } from '../support/service.ts'

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
const document: Json = JSON.parse(readFileSync(join(root, 'docs/reference/openapi.json'), 'utf8'))
/** docs/reference/openapi.json of the last release: `gzip -9nc docs/reference/openapi.json > test/workspace/openapi-baseline.json.gz`. */
const released: Json = JSON.parse(
  gunzipSync(readFileSync(join(root, 'test/workspace/openapi-baseline.json.gz'))).toString('utf8'),
)

// covers version-stable
test('a changeset that raises the version enough names each call that takes or gives less than in the last release', () => {
  const folder = join(root, '.changeset')
  const changesets = readdirSync(folder)
    .filter((name) => name.endsWith('.md'))
    .map((name) => readFileSync(join(folder, name), 'utf8'))
  const { version } = JSON.parse(readFileSync(join(root, 'packages/server/package.json'), 'utf8'))
  expect(unsaid(lossesBetween(released, document), changesets, version)).toEqual([])
})

/**
 * The losses whose call, such as `POST /api/v1/auth/login`, no changeset of a major version names, or of a minor one before
 * 1.0.0.
 */
function unsaid(losses: string[], changesets: string[], version: string): string[] {
  const enough = version.startsWith('0.') ? /: (?:minor|major)$/m : /: major$/m
  const texts = changesets.map((text) => text.split(/^---$/m)).filter(([, packages = '']) => enough.test(packages))
  const named = texts.flatMap(([, , text = '']) => text.match(/[A-Z]+ \/[\w/{}.-]*[\w}]/g) ?? [])
  return losses.filter((loss) => !named.includes(/^[A-Z]+ [^ :]+/.exec(loss)?.[0] ?? ''))
}

test.each([
  ['a minor changeset', '0.1.0', 'minor', 'POST /api/v1/auth/login', true],
  ['a patch changeset', '0.1.0', 'patch', 'POST /api/v1/auth/login', false],
  ['a minor changeset after 1.0.0', '1.2.0', 'minor', 'POST /api/v1/auth/login', false],
  ['a major changeset after 1.0.0', '1.2.0', 'major', 'POST /api/v1/auth/login', true],
  ['a changeset about a longer path', '0.1.0', 'minor', 'POST /api/v1/auth/login/more', false],
  ['a changeset about another method', '0.1.0', 'minor', 'GET /api/v1/auth/login', false],
])('%s is judged correctly for a call that changes', (_, version, raise, call, isEnough) => {
  const changeset = `---\n'@gatehouse/server': ${raise}\n---\n\n\`${call}\` no longer shows the user.\n`
  const loss = 'POST /api/v1/auth/login 200: user removed'
  expect(unsaid([loss], [changeset], version)).toEqual(isEnough ? [] : [loss])
})

/** What clients lose by a change of the document. */
function lossesBy(change: (copy: Json) => void): string[] {
  const copy = structuredClone(document)
  change(copy)
  return lossesBetween(document, copy)
}

const api = '/api/v1'
const bodyOf = (copy: Json, path: string): Json => schemaOf(copy, copy.paths[api + path].post.requestBody)
const replyOf = (copy: Json, path: string, status = '200'): Json => schemaOf(copy, copy.paths[api + path].post.responses[status])

/** Replaces a shared schema by a copy that nothing else refers to, and returns it. */
function schemaOf(copy: Json, holder: Json): Json {
  const media = holder.content['application/json']
  const name = media.schema.$ref?.split('/').at(-1)
  if (name) media.schema = structuredClone(copy.components.schemas[name])
  return media.schema
}

test.each<[string, (copy: Json) => void, string[]]>([
  ['nothing', () => {}, []],
  ['a route', (copy) => delete copy.paths[`${api}/auth/logout`], ['POST /api/v1/auth/logout: removed']],
  [
    'a response',
    (copy) => delete copy.paths[`${api}/auth/register`].post.responses['201'],
    ['POST /api/v1/auth/register 201: removed'],
  ],
  [
    'a member of a reply',
    (copy) => delete replyOf(copy, '/auth/login').properties.user,
    ['POST /api/v1/auth/login 200: user removed'],
  ],
  [
    'a member that was always in a reply',
    (copy) => void replyOf(copy, '/auth/login').required.splice(0, 1),
    ['POST /api/v1/auth/login 200: token_type may be missing'],
  ],
  [
    'a value of an enumeration',
    (copy) => void bodyOf(copy, '/admin/roles').properties.scope.enum.pop(),
    ['POST /api/v1/admin/roles body scope: no longer org'],
  ],
  [
    'a member that may be left out',
    (copy) => void bodyOf(copy, '/auth/login').required.push('organization_id'),
    ['POST /api/v1/auth/login body: organization_id required'],
  ],
  [
    'some of a type',
    (copy) => void Object.assign(bodyOf(copy, '/auth/login').properties, { password: { type: 'integer' } }),
    ['POST /api/v1/auth/login body password: the type string became integer'],
  ],
  [
    'some length',
    (copy) => void Object.assign(bodyOf(copy, '/auth/login').properties.password, { maxLength: 8 }),
    ['POST /api/v1/auth/login body password: maxLength none became 8'],
  ],
  [
    'a public route',
    (copy) => void copy.paths[`${api}/auth/login`].post.security.push({ bearer: [] }),
    ['POST /api/v1/auth/login: needs a bearer'],
  ],
  [
    'a filter',
    (copy) => void copy.paths[`${api}/admin/users`].get.parameters.splice(0, 1),
    [expect.stringMatching(/^GET \/api\/v1\/admin\/users query \w+: removed$/) as unknown as string],
  ],
])('the losses of a document that lacks %s are listed', (_, change, losses) => {
  expect(lossesBy(change)).toEqual(losses)
})

test('additions to the document are not losses', () => {
  const losses = lossesBy((copy) => {
    copy.paths[`${api}/auth/new`] = copy.paths[`${api}/auth/login`]
    bodyOf(copy, '/admin/roles').properties.scope.enum.push('another')
    bodyOf(copy, '/auth/login').properties.another = { type: 'string' }
    const reply = replyOf(copy, '/auth/login')
    reply.properties.another = { type: 'string' }
    reply.required.push('another')
    copy.paths[`${api}/auth/login`].post.responses['418'] = { description: 'tea' }
  })
  expect(losses).toEqual([])
})
