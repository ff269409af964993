import { describe, expect, test } from 'vitest'
import { planReplacement, planRotation } from './plan-rotation.ts'

const [old, next] = ['00000000', '11111111']
const now = Date.UTC(2030, 0, 1)
const at = (seconds: number) => new Date(now + seconds * 1000).toISOString()

type Lines = [app: string, kid: string, seen: number, missing?: number][]

/** The answer of a server that has had these secrets since `since` seconds from now. */
const server = (current: string, previous: string | null, lines: Lines = [], since = -60) => ({
  service_id: 'service',
  current: { kid: current },
  previous: previous === null ? null : { kid: previous },
  signing_since: at(since),
  access_token_seconds: 900,
  consumers: lines.map(([app_code, kid, seen, missing]) => ({
    app_code,
    signing: 'shared' as const,
    kid,
    is_ours: true,
    last_seen_at: at(seen),
    last_missing_at: missing === undefined ? null : at(missing),
  })),
})
const verdict = (...answers: ReturnType<typeof server>[]) => {
  const { step, verdict } = planRotation(answers, next, now)
  return `${step} ${verdict}`
}

describe('the verdict on a rotation', () => {
  test.each<[string, ReturnType<typeof server>[], string]>([
    ['no server accepts it', [server(old, null)], '1 wait'],
    ['one server of two accepts it', [server(old, next), server(old, null)], '1 wait'],
    ['only the servers accept it', [server(old, next, [['shop', old, 0]])], '2 wait'],
    [
      'one instance of a consumer was recently seen without it',
      [
        server(old, next, [
          ['shop', next, 0, -60],
          ['shop', old, 0],
        ]),
      ],
      '2 wait',
    ],
    [
      'one app of two accepts it',
      [
        server(old, next, [
          ['shop', next, 0],
          ['blog', old, 0],
        ]),
      ],
      '2 wait',
    ],
    [
      'every server and consumer accepts it',
      [
        server(old, next, [
          ['shop', next, 0],
          ['shop', old, 0],
          ['blog', next, 0, -600],
        ]),
      ],
      '2 go on',
    ],
    ['one server of two signs with it', [server(next, old), server(old, next)], '3 wait'],
    ['all servers sign with it, and old tokens are valid', [server(next, old), server(next, old, [], -899)], '3 wait'],
    ['all servers sign with it, and a consumer refuses it', [server(next, old, [['shop', old, 0]], -2_000)], '3 wait'],
    [
      'old tokens have expired, and a consumer accepts the old secret',
      [
        server(
          next,
          old,
          [
            ['shop', next, 0],
            ['shop', old, -30],
          ],
          -906,
        ),
      ],
      '4 wait',
    ],
    [
      'no consumer accepts the old secret',
      [
        server(
          next,
          old,
          [
            ['shop', next, 0],
            ['shop', old, -400],
          ],
          -906,
        ),
      ],
      '4 go on',
    ],
    ['one server of two has forgotten the old secret', [server(next, null, [], -906), server(next, old, [], -906)], '5 go on'],
    ['it is the only secret', [server(next, null, [['shop', next, 0]])], '5 done'],
  ])('the verdict on the next secret is right if %s', (_, answers, expected) => {
    expect(verdict(...answers)).toBe(expected)
  })
})

test('the plan says when an instance was seen without the next secret, and when it stops counting', () => {
  const lines: Lines = [
    ['shop', next, -20, -90],
    ['shop', old, -10],
    ['blog', old, 0],
  ]
  const state = planRotation([server(old, next, lines)], next, now)
  expect(state.why).toBe(
    'not every consumer accepts the next secret: shop (last seen without it 23:58:30; clear at 00:03:30 UTC, unless it is seen without it again), blog',
  )
  expect(state.apps).toMatchObject([
    { app_code: 'shop', last_seen_without: at(-90), clear_at: at(210) },
    { app_code: 'blog', last_seen_without: null, clear_at: null },
  ])
})

test('the replacement of a leaked secret is done when every server and consumer has only the new one', () => {
  const plan = (...answers: ReturnType<typeof server>[]) => planReplacement(answers, next).verdict
  expect(plan(server(old, null))).toBe('wait')
  expect(plan(server(next, old))).toBe('wait')
  expect(plan(server(next, null), server(old, null))).toBe('wait')
  expect(plan(server(next, null, [['shop', old, 0]]))).toBe('wait')
  expect(plan(server(next, null, [['shop', next, 0, -70]]))).toBe('done')
  expect(
    plan(
      server(next, null, [
        ['shop', next, 0],
        ['blog', old, -70],
      ]),
    ),
  ).toBe('wait')
})
