import { describe, expect, test } from 'vitest'
import { isOwnedRedirect, nextPage, nextStep, type Person, type SignedIn, type Situation } from './next-step.ts'

const now = 1_800_000_000_000
const begunAt = now - 60_000
const minutesAgo = (minutes: number) => now - minutes * 60_000

/** Every combination of one value for each name. */
function* combinations<T extends object>(values: { [K in keyof T]: readonly T[K][] }): Generator<T> {
  const names = Object.keys(values) as (keyof T)[]
  const chosen = {} as T
  function* choose(index: number): Generator<T> {
    const name = names[index]
    if (name === undefined) yield { ...chosen }
    else
      for (const value of values[name]) {
        chosen[name] = value
        yield* choose(index + 1)
      }
  }
  yield* choose(0)
}

const requests = [
  ...combinations<Situation['request']>({
    prompt: [undefined, 'none', 'login', 'create'],
    maxAgeSeconds: [undefined, 0, 300],
    demandsMfa: [false, true],
    begunAt: [begunAt],
    hasInvite: [false, true],
    canJoin: [false, true],
    hasOrganization: [false, true],
    isRedirectOwned: [true, false],
  }),
  // What these two change has nothing to do with the rest.
].filter(({ demandsMfa, hasInvite, hasOrganization }) => !demandsMfa || (!hasInvite && !hasOrganization))
const apps = [
  ...combinations<Situation['app']>({
    singleSignOn: [true, false],
    maxSignInAgeSeconds: [null, 240, 3_600],
    isAdminApp: [false, true],
  }),
]
const people: SignedIn[] = [
  ...combinations<SignedIn>({
    firstProvenAt: [begunAt, minutesAgo(4.5), minutesAgo(11), minutesAgo(120)],
    signedInAt: [begunAt],
    lastSeenAt: [begunAt, minutesAgo(4.5)],
    secondProvenAt: [null, begunAt, minutesAgo(11)],
    hasSecondFactor: [false, true],
    isTrusted: [false, true],
    hasPasskey: [false, true],
    isNamedHere: [true, false],
    hasEntered: [true, false],
    refusal: [undefined, 'app_access_denied'],
    organizations: [0, 1, 2],
  }),
]
  .filter(({ hasPasskey, organizations }) => !hasPasskey || organizations === 0)
  .filter((person) => !person.isTrusted || (person.hasSecondFactor && person.secondProvenAt === null && !person.hasPasskey))

/** When the person was proven as the request demands it: of two factors the older proof counts. */
const provenAtOf = ({ demandsMfa }: Situation['request'], { firstProvenAt, secondProvenAt }: SignedIn) =>
  demandsMfa && secondProvenAt !== null && secondProvenAt < firstProvenAt ? secondProvenAt : firstProvenAt

const lacksFactor = ({ demandsMfa }: Situation['request'], { hasSecondFactor, secondProvenAt, isTrusted }: SignedIn) =>
  hasSecondFactor && secondProvenAt === null && (!isTrusted || demandsMfa)

/** Whether the person has signed in for the request. */
const isAnswered = (request: Situation['request'], signedIn: SignedIn) =>
  request.prompt === 'create'
    ? signedIn.firstProvenAt >= begunAt || signedIn.lastSeenAt >= begunAt
    : provenAtOf(request, signedIn) >= begunAt

/** Gets each situation with what follows from it. Returns the situations for which it is false. */
function violations(isRight: (situation: Situation, step: ReturnType<typeof nextStep>) => boolean): string[] {
  const wrong: string[] = []
  for (const request of requests)
    for (const app of apps)
      for (const signedIn of [undefined, ...people]) {
        const situation = { now, request, app, signedIn }
        const step = nextStep(situation)
        if (!isRight(situation, step) && wrong.length < 3) wrong.push(JSON.stringify({ situation, step }))
      }
  return wrong
}

/** The conditions of a silent entry, each by itself. */
const conditions: Record<string, (situation: Situation, person: SignedIn) => boolean> = {
  'the app takes part in single sign-on': ({ app }) => app.singleSignOn,
  'the redirect URL has an owner': ({ request }) => request.isRedirectOwned,
  'no prompt, or one that was answered for this request': ({ request }, person) =>
    request.prompt === undefined ||
    request.prompt === 'none' ||
    (request.prompt === 'login' ? isAnswered(request, person) : person.firstProvenAt >= begunAt),
  'no invitation': ({ request }) => !request.hasInvite,
  'no organization to join first': ({ request }) => !request.canJoin,
  'the user has entered before': (_, { hasEntered }) => hasEntered,
  'the proof is newer than max_age': ({ request }, person) =>
    provenAtOf(request, person) >= begunAt || now - provenAtOf(request, person) <= (request.maxAgeSeconds ?? 1e9) * 1000,
  'the proof is newer than the app demands': ({ request, app }, person) =>
    provenAtOf(request, person) >= begunAt || now - provenAtOf(request, person) <= (app.maxSignInAgeSeconds ?? 1e9) * 1000,
  'two factors were shown where the request demands them': ({ request }, { secondProvenAt }) =>
    !request.demandsMfa || secondProvenAt !== null,
  'the second factor was shown, if only on an earlier day': ({ request }, signedIn) => !lacksFactor(request, signedIn),
  'the app knows this user by this address': (_, { isNamedHere }) => isNamedHere,
  'the gate admits': (_, { refusal }) => refusal === undefined,
  'the organization is clear': ({ request }, { organizations }) => request.hasOrganization || organizations < 2,
  'both proofs are fresh at an app that administers': ({ app }, { firstProvenAt, hasSecondFactor, secondProvenAt }) =>
    !app.isAdminApp ||
    (now - firstProvenAt <= 600_000 && (!hasSecondFactor || (secondProvenAt !== null && now - secondProvenAt <= 600_000))),
}

describe('the next step for every combination of conditions', () => {
  test('a person enters silently if every condition holds, and never otherwise', () => {
    const all = Object.values(conditions)
    expect(
      violations((situation, step) => {
        const { signedIn } = situation
        return 'enter' in step === (signedIn !== undefined && all.every((holds) => holds(situation, signedIn)))
      }),
    ).toEqual([])
  })

  test.each(Object.entries(conditions))('one unmet condition is enough to prevent silent entry: %s', (name, holds) => {
    const others = Object.entries(conditions).filter(([other]) => other !== name)
    let alone = 0
    const isRight = (situation: Situation, step: ReturnType<typeof nextStep>) => {
      const { signedIn } = situation
      if (!signedIn || holds(situation, signedIn) || !others.every(([, other]) => other(situation, signedIn))) return true
      alone += 1
      return !('enter' in step)
    }
    expect(violations(isRight)).toEqual([])
    expect(alone).toBeGreaterThan(0)
  })

  test('prompt=none shows nothing, and no other prompt is answered with an error', () => {
    expect(
      violations(({ request }, step) =>
        request.prompt === 'none' ? 'enter' in step || 'error' in step : 'ask' in step || 'enter' in step || 'refuse' in step,
      ),
    ).toEqual([])
  })

  test('prompt=none gives the app the same answer for a person who has never entered it as for a stranger', () => {
    expect(
      violations(({ request, signedIn }, step) => {
        if (request.prompt !== 'none' || signedIn?.hasEntered) return true
        return 'error' in step && step.error === 'login_required'
      }),
    ).toEqual([])
  })

  test('prompt=none answers interaction_required if the person need not sign in again', () => {
    expect(
      violations(({ request, app, signedIn }, step) => {
        if (request.prompt !== 'none' || !signedIn?.hasEntered || 'enter' in step) return true
        const asked = nextStep({ now, request: { ...request, prompt: undefined }, app, signedIn })
        const mustSignIn = 'ask' in asked && asked.ask === 'sign_in'
        return 'error' in step && step.error === (mustSignIn ? 'login_required' : 'interaction_required')
      }),
    ).toEqual([])
  })

  test('a person whom the gate refuses or the app does not know is never asked to go on', () => {
    expect(
      violations(({ signedIn }, step) => {
        if (!signedIn || (signedIn.refusal === undefined && signedIn.isNamedHere)) return true
        return !('enter' in step) && !('ask' in step && (step.ask === 'continue' || step.ask === 'organization'))
      }),
    ).toEqual([])
  })

  test('a refusal is that of the gate, and only a person who has proven enough sees it', () => {
    expect(
      violations(({ request, signedIn }, step) => {
        if (!('refuse' in step)) return true
        if (!signedIn || lacksFactor(request, signedIn)) return false
        if (request.prompt === 'login' && !isAnswered(request, signedIn)) return false
        return step.refuse === (signedIn.isNamedHere ? signedIn.refusal : 'unknown_here')
      }),
    ).toEqual([])
  })

  test('a person who can join is asked to join before the gate is asked, once they have proven enough', () => {
    const proofs = [
      'the proof is newer than max_age',
      'the proof is newer than the app demands',
      'the second factor was shown, if only on an earlier day',
    ]
    expect(
      violations((situation, step) => {
        const { request, signedIn } = situation
        if (request.prompt === 'none') return true
        const isDue =
          request.canJoin &&
          signedIn?.isNamedHere === true &&
          (request.prompt === undefined || isAnswered(request, signedIn)) &&
          proofs.every((name) => conditions[name]!(situation, signedIn))
        return ('ask' in step && step.ask === 'join') === isDue
      }),
    ).toEqual([])
  })

  test('a person who is not signed in is only asked to sign in', () => {
    expect(
      violations(({ request, signedIn }, step) => {
        if (signedIn || request.prompt === 'none') return true
        return 'ask' in step && step.ask === (request.prompt === 'create' ? 'create_account' : 'sign_in')
      }),
    ).toEqual([])
  })

  test('a person who has shown everything for this request is not asked for it again', () => {
    expect(
      violations(({ request, signedIn }, step) => {
        if (!signedIn || provenAtOf(request, signedIn) < begunAt) return true
        if (lacksFactor(request, signedIn)) return true
        return !('ask' in step && (step.ask === 'sign_in' || step.ask === 'create_account'))
      }),
    ).toEqual([])
  })

  test('a person who has signed in for this request is not asked again to create an account', () => {
    expect(
      violations(({ signedIn }, step) => {
        if (!signedIn || signedIn.lastSeenAt < begunAt) return true
        return !('ask' in step && step.ask === 'create_account')
      }),
    ).toEqual([])
  })

  test('only a person who owes a second factor and has no codes is asked for a passkey, or to enrol', () => {
    expect(
      violations((situation, step) => {
        const { request, signedIn } = situation
        if (request.prompt === 'none' || !('ask' in step)) return true
        if (step.ask !== 'use_passkey' && step.ask !== 'enrol') return true
        if (!signedIn || !request.demandsMfa || signedIn.secondProvenAt !== null || signedIn.hasSecondFactor) return false
        return (step.ask === 'use_passkey') === signedIn.hasPasskey && signedIn.isNamedHere && signedIn.refusal === undefined
      }),
    ).toEqual([])
  })

  test('a person who goes on by a button has proven as much as one who enters silently', () => {
    const proofs = [
      ...[
        'the proof is newer than max_age',
        'the proof is newer than the app demands',
        'the second factor was shown, if only on an earlier day',
      ],
      'two factors were shown where the request demands them',
    ]
    expect(
      violations((situation, step) => {
        const { signedIn } = situation
        if (!('ask' in step) || (step.ask !== 'continue' && step.ask !== 'organization')) return true
        return signedIn !== undefined && proofs.every((name) => conditions[name]!(situation, signedIn))
      }),
    ).toEqual([])
  })
})

describe('the page that comes next', () => {
  const signedIn = people.find(({ isNamedHere, hasEntered, refusal }) => isNamedHere && hasEntered && refusal === undefined)!
  const situation: Situation = { now, request: { ...requests[0]!, isRedirectOwned: true }, app: apps[0]!, signedIn }
  const user = { id: 'ann', email: 'ann@example.com', email_verified_at: now, is_unproven: 0 }
  const ann = { user } as unknown as Person
  const resume = { queryHash: '', begunAt, sealedAt: now }
  const ticket = { id: '', email: '', version: 1, method: 'password', firstProvenAt: now, isKept: false }
  const named = { code: '', isNew: false, isKept: false }
  const noWay = { provider: undefined, method: undefined }

  test('a person enters unless another user is half way through signing in', () => {
    const pageFor = (carried: object) => nextPage(situation, ann, { resume: { ...resume, ...carried }, asked: noWay })
    expect(pageFor({})).toEqual({ enter: 'silently', person: ann })
    expect(pageFor({ ticket: { ...ticket, userId: 'ann' } })).toMatchObject({ enter: 'silently' })
    expect(pageFor({ ticket: { ...ticket, userId: 'bob' } })).toMatchObject({ show: 'second_factor', asksWho: true })
    expect(pageFor({ named: { ...named, email: user.email } })).toMatchObject({ enter: 'silently' })
    expect(pageFor({ named: { ...named, email: 'bob@example.com' } })).toMatchObject({ show: 'agree', asksWho: true })
  })

  test.each([
    ['ann', 300_000, { show: 'recovery_codes' }],
    ['ann', 300_001, { enter: 'silently' }],
    ['bob', 0, { enter: 'silently' }],
  ])('recovery codes of %s, made %d ms ago, lead to %o', (userId, age, expected) => {
    const carried = { ...resume, sealedAt: now - age, codes: { userId, codes: ['one'] } }
    expect(nextPage(situation, ann, { resume: carried, asked: noWay })).toMatchObject(expected)
  })

  test('the way that the app asks for is taken at once, but only before the first step', () => {
    const nobody = { ...situation, signedIn: undefined }
    const asked = { provider: 'google', method: 'email_code' } as const
    const page = { show: 'credentials', asksWho: true, person: undefined }
    expect(nextPage(nobody, undefined, { resume: undefined, asked })).toEqual({
      ...{ go: 'provider', code: 'google', otherwise: { go: 'ask_mail' } },
    })
    expect(nextPage(nobody, undefined, { resume, asked })).toEqual(page)
    const isNew = { ...nobody, request: { ...nobody.request, prompt: 'create' as const } }
    expect(nextPage(isNew, undefined, { resume: undefined, asked: { ...asked, provider: undefined } })).toEqual({
      ...page,
      show: 'new_account',
    })
  })
})

test.each([
  ['second_factor_not_shown', begunAt, 'a passkey', 'use_passkey'],
  // They came from a provider that is trusted for it, before the date of the app.
  ['second_factor_not_shown', begunAt, 'neither', 'sign_in'],
  ['two_factor_enrollment_required', begunAt, 'neither', 'enrol'],
  ['two_factor_enrollment_required', minutesAgo(11), 'neither', 'sign_in'],
] as const)(
  'a person who lacks what the app demands (%s, %d, owns %s) is asked for it first',
  (refusal, signedInAt, owned, ask) => {
    for (const person of people.filter(
      (one) => one.isNamedHere && !one.hasSecondFactor && one.hasPasskey === (owned === 'a passkey'),
    ))
      for (const request of requests.filter(({ prompt, maxAgeSeconds }) => prompt === undefined && maxAgeSeconds === undefined))
        for (const app of apps.filter(({ maxSignInAgeSeconds }) => maxSignInAgeSeconds === null))
          expect(nextStep({ now, request, app, signedIn: { ...person, signedInAt, refusal } })).toEqual({ ask })
  },
)

test.each([
  ['https://shop.example/cb', true, true],
  ['https://localhost/cb', true, true],
  ['http://localhost:3000/cb', false, true],
  ['http://shop.test/cb', false, true],
  ['http://127.0.0.1:3000/cb', false, false],
  ['http://127.1:3000/cb', false, false],
  ['http://127.8.8.8:3000/cb', false, false],
  ['http://[::1]:3000/cb', false, false],
  ['https://127.0.0.1:3000/cb', false, false],
  ['https://[::1]/cb', false, false],
  ['com.example.shop:/cb', false, false],
  ['com.example.shop://cb', false, false],
])('a redirect to %s counts as owned: %s in production, %s elsewhere', (url, production, elsewhere) => {
  expect(isOwnedRedirect(url, { production: true })).toBe(production)
  expect(isOwnedRedirect(url, { production: false })).toBe(elsewhere)
})
