import { expect, test } from 'vitest'
import { getAuth, optionalAuth, requireAuth } from './next.ts'
import { buildAuth, CLAIMS, signToken } from './test-tokens.ts'

// Only what is specific to Next.js. What all guards share is in guards.test.ts; test/packaging/next-scaffold.test.ts and
// test/platforms run a real Next.js.

const auth = buildAuth()
const context = { params: Promise.resolve({ id: '7' }) }
const ask = (token?: string) =>
  new Request('http://localhost/', { headers: token === undefined ? {} : { authorization: `Bearer ${token}` } })

test('a route handler gets the request and its parameters, and may ignore them', async () => {
  const GET = requireAuth(auth)(async (request, { params }) =>
    Response.json({ user: getAuth(request).userId, ...(await params) }),
  )
  expect(await (await GET(ask(signToken()), context)).json()).toEqual({ user: CLAIMS.uid, id: '7' })
  const silent = requireAuth(auth)(() => new Response(null, { status: 204 }))
  expect((await silent(ask(signToken()), context)).status).toBe(204)
})

test('a middleware that returns nothing lets Next.js continue only for a valid token', async () => {
  const middleware = requireAuth(auth)(() => undefined)
  expect(await middleware(ask(signToken()), context)).toBeUndefined()
  expect((await middleware(ask(), context))?.status).toBe(401)
})

test('a guard in the place of a handler throws and says how to write it', () => {
  expect(() => requireAuth(auth)(ask() as never)).toThrow(/requireAuth\(auth\)\(handler\)/)
  expect(() => optionalAuth(auth)(undefined as never)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
})

test('a redirect that Next.js throws passes through', async () => {
  const redirect = new Error('NEXT_REDIRECT')
  const GET = optionalAuth(auth)(() => {
    throw redirect
  })
  await expect(GET(ask(), context)).rejects.toBe(redirect)
})
