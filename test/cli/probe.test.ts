// `authctl dev probe` finds tokens that a backend accepts but must refuse.
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startWeakBackend, type Weakness } from '../support/weak-backend.ts'
import { errorOf, gatehouseFixture, parsed } from './sandbox.ts'

const secret = randomBytes(32).toString('base64url')

describe.each(['sqlite', 'postgres'] as const)('dev probe on %s', (kind) => {
  const { service, signedInOnce } = gatehouseFixture({ JWT_ACCESS_SECRET: secret }, kind)

  /** Creates an app and a backend for it, on a machine where its admin is signed in. */
  async function begin(...weaknesses: Weakness[]) {
    const here = await signedInOnce()
    const code = `notes-${randomBytes(4).toString('hex')}`
    const app = parsed(await here.authctl(`app create ${code} --name Notes --json`))
    writeFileSync(join(here.folder, 'secret'), `${secret}\n`)
    const backend = await startWeakBackend({ authUrl: service.url, app, secret }, new Set(weaknesses))
    onTestFinished(() => backend.close())
    const words = `dev probe ${backend.url} --app ${code}`
    const probe = (flags = '--secret-file secret') => here.authctl(`${words} ${flags} --json`)
    const leftUsers = async () => parsed(await here.authctl('user find probe- --json'))
    return { here, backend, app, words, probe, leftUsers }
  }

  test('dev probe finds no hole in a backend that the SDK guards, and leaves no user behind', async () => {
    const { probe, leftUsers } = await begin()
    const ended = await probe()
    expect([ended.exit, ended.stderr]).toEqual([0, ''])
    const { counts, attacks } = parsed(ended)
    expect(counts).toEqual({ refused: attacks.length, accepted: 0, unanswered: 0, untested: 0 })
    expect(attacks.length).toBeGreaterThanOrEqual(29)
    const page = readFileSync(new URL('../../docs/guard-a-backend/probe.md', import.meta.url), 'utf8')
    for (const { attack } of attacks) expect(page).toContain(`\`${attack}\``)
    for (const { harm } of attacks) expect(harm).toMatch(/^[A-Z].*\.$/)
    expect(await leftUsers()).toEqual([])
  })

  test('dev probe reports a backend that accepts a revoked token', async () => {
    const { probe } = await begin('follows no revocations')
    const ended = await probe('--secret-file secret --revoked-within 300ms')
    expect(ended.exit).toBe(8)
    expect(holesOf(ended)).toEqual(['a token that was revoked'])
  })

  if (kind === 'postgres') return

  const known: [Weakness, ...string[]][] = [
    ['needs no token', 'no token'],
    ['takes any word', 'a word instead of a token'],
    ['needs no signature part', 'a token without its signature part'],
    ['cuts padding off', 'a token with padding'],
    ['takes alg none', 'a token that says it needs no signature'],
    [
      'does not compare the signature',
      'a token with padding',
      'a token signed with another secret',
      'a token whose claims were changed afterwards',
    ],
    ['finds no key by the kid, and goes on', 'a token that brings its own key'],
    ['takes an empty signature', 'a token whose signature was cut off'],
    ['takes the first of a list of claims', 'a payload that is not an object'],
    ['takes the hash from the token', 'a token signed with HMAC-SHA-512'],
    ['does not look at alg', 'a token that claims an RSA signature'],
    ['does not look at typ', 'a token of another kind'],
    ['does not look at crit', 'a token with an extension that must be understood'],
    ['does not look at exp', 'a token that expired an hour ago'],
    ['does not look at nbf', 'a token that is not valid yet'],
    ['does not look at iat', 'a token issued in the future'],
    ['does not look at iss', 'a token of another issuer'],
    ['serves every app', 'a genuine token of another app'],
    ['looks for itself in a list of apps', 'a token for a list of apps'],
    ['looks at aud alone', 'a token of another app that names this audience'],
    ['does not look at app_id', 'a token without an app'],
    ['needs no exp', 'a token that never expires'],
    ['converts exp', 'a token with an expiry that is a string'],
    ['needs no uid', 'a token without a user'],
    ['needs no tv', 'a token without a version'],
    ['takes text for permissions', 'a token whose permissions are a string'],
    ['takes machine tokens', 'a machine token'],
  ]

  test.each(known)('dev probe reports a backend that %s, and no other hole', async (weakness, ...holes) => {
    const { probe } = await begin(weakness)
    const ended = await probe()
    expect(ended.exit).toBe(8)
    expect(errorOf(ended)).toMatchObject({ code: 'backend_has_holes' })
    expect(holesOf(ended)).toEqual(holes)
  })

  test('dev probe names all holes at once, each with what an attacker could do', async () => {
    const { here, words } = await begin(...known.map(([weakness]) => weakness))
    const { stdout, exit } = await here.authctl(`${words} --secret-file secret -o table`)
    expect(exit).toBe(8)
    for (const [, ...holes] of known)
      for (const hole of holes) {
        expect(stdout).toMatch(new RegExp(`^accepted +${hole} +200$`, 'm'))
        expect(stdout).toMatch(new RegExp(`^  ${hole}: .*\\.$`, 'm'))
      }
  })

  test('dev probe without the secret counts the attacks that need it as not tested', async () => {
    const { probe } = await begin('does not compare the signature', 'does not look at exp')
    const ended = await probe('')
    expect(ended.exit).toBe(8)
    expect(holesOf(ended)).toEqual([
      'a token with padding',
      'a token signed with another secret',
      'a token whose claims were changed afterwards',
    ])
    const { counts, attacks } = parsed(ended)
    expect(counts).toMatchObject({ untested: 19, unanswered: 0 })
    expect(attacks).toContainEqual(expect.objectContaining({ attack: 'a token that expired an hour ago', verdict: 'untested' }))
  })

  test('dev probe refuses a secret that does not sign for the app, such as the shared one beside an own key', async () => {
    const { here, app, probe, leftUsers } = await begin()
    writeFileSync(join(here.folder, 'other'), randomBytes(32).toString('base64url'))
    const ended = await probe('--secret-file other')
    expect([ended.exit, errorOf(ended).code]).toEqual([6, 'other_secret'])
    expect((await probe('--secret-file nowhere')).exit).toBe(6)
    for (const step of ['prepare', 'switch'])
      expect((await here.authctl(`app signing ${app.code} --step ${step} --yes`)).exit).toBe(0)
    expect(errorOf(await probe()).code).toBe('other_secret')
    expect(await leftUsers()).toEqual([])
  })

  test.each([
    [401, 6, 'good_token_refused'],
    [403, 6, 'good_token_refused'],
    [404, 6, 'good_token_refused'],
    [302, 6, 'good_token_refused'],
    [500, 6, 'good_token_refused'],
  ])('dev probe does not judge a backend that answers every request with %i', async (status, exit, code) => {
    const { backend, probe, leftUsers } = await begin()
    backend.answerWith(() => status)
    const ended = await probe()
    expect([ended.exit, errorOf(ended).code]).toEqual([exit, code])
    expect(errorOf(ended).message).toContain(String(status))
    expect(await leftUsers()).toEqual([])
  })

  test('dev probe counts a rate limit or a failure as unanswered, not as refused or accepted', async () => {
    const { backend, probe } = await begin()
    let count = 0
    backend.answerWith(() => {
      count += 1
      return ({ 5: 429, 7: 500 } as Record<number, number>)[count]
    })
    const ended = await probe()
    expect([ended.exit, errorOf(ended).code]).toEqual([7, 'probe_incomplete'])
    expect(parsed(ended).counts).toMatchObject({ unanswered: 2, accepted: 0 })
  })

  test('dev probe does not call a backend clean that begins to refuse everybody', async () => {
    const { backend, probe } = await begin()
    let count = 0
    backend.answerWith(() => {
      count += 1
      return count > 3 ? 401 : undefined
    })
    expect(errorOf(await probe()).code).toBe('good_token_refused')
  })

  test('dev probe exits with 7 if the backend is away, and leaves no user behind', async () => {
    const { backend, probe, leftUsers } = await begin()
    await backend.close()
    const ended = await probe()
    expect([ended.exit, errorOf(ended).code]).toEqual([7, 'backend_unreachable'])
    expect(await leftUsers()).toEqual([])
  })

  test('dev probe refuses wrong options before it creates a user', async () => {
    const { here, app, words, probe } = await begin()
    const users = async () => parsed(await here.authctl('user find --json')).length
    const before = await users()
    expect((await here.authctl(`dev probe nowhere --app ${app.code}`)).exit).toBe(2)
    expect((await here.authctl(words.replace('127.0.0.1', 'ada:pw@127.0.0.1'))).exit).toBe(2)
    expect((await here.authctl(words.replace(app.code, 'nothing'))).exit).toBe(3)
    expect((await probe('--revoked-within soon')).exit).toBe(2)
    const elsewhere = await here.authctl(`dev probe http://api.example.com/me --app ${app.code}`)
    expect(elsewhere.exit).toBe(2)
    expect(elsewhere.stderr).toMatch(/can be read in transit[\s\S]*--yes is required/)
    const planned = await probe('--dry-run')
    expect([planned.exit, parsed(planned).attacks]).toEqual([0, []])
    expect(await users()).toBe(before)
  })

  test('Ctrl-C during dev probe prints the command that deletes its user', async () => {
    const { here, backend, words } = await begin()
    const asked = new Promise<void>((resolve) =>
      backend.answerWith(() => {
        resolve()
        return 'never'
      }),
    )
    const terminal = here.terminal(`${words} --secret-file secret`)
    await asked
    terminal.type('\u0003')
    const { screen, exit } = await terminal.ended()
    expect(exit).toBe(130)
    const [, removal] = /authctl (user delete \S+ --confirm \S+)/.exec(screen)!
    expect((await here.authctl(removal!)).exit).toBe(0)
  })
})

const holesOf = (ended: { stdout: string }): string[] =>
  parsed(ended)
    .attacks.filter(({ verdict }: { verdict: string }) => verdict === 'accepted')
    .map(({ attack }: { attack: string }) => attack)
