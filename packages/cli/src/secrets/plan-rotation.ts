import type { components } from '@gatehouse/sdk/admin'
import { latelyMs, whoAccepts } from './who-accepts-secret.ts'

type Secrets = components['schemas']['Secrets']

/** The state of a rotation: the current step of docs/operate/rotating-the-secret.md, and whether that step is complete. */
export interface RotationState {
  step: 1 | 2 | 3 | 4 | 5
  /** `wait` while the step is not complete, `go on` to the next one, or `done`. */
  verdict: 'wait' | 'go on' | 'done'
  why: string
  /** What to do now. Empty if there is nothing to do but wait. */
  todo: string[]
  apps: AppState[]
}

interface AppState {
  app_code: string
  /** Which of its consumers accept the next secret. */
  accepts_next: 'all' | 'some' | 'none'
  /** When a consumer was last seen that does not accept it. Null if none was, or none accepts it. */
  last_seen_without: string | null
  /** Until when such a consumer counts, if it is not seen again. Null as above. */
  clear_at: string | null
  /** Whether one of them recently accepted another secret as well. */
  accepts_others: boolean
}

const servers = (current: string, previous: string | undefined) =>
  `servers, one after the other: JWT_ACCESS_SECRET=${current}  JWT_ACCESS_SECRET_PREVIOUS${previous ? `=${previous}` : ' unset'}`
const consumers = (current: string, previous: string | undefined) => servers(current, previous).replace('servers', 'consumers')

const toDo = {
  1: servers('old', 'new'),
  2: consumers('new', 'old'),
  3: servers('new', 'old'),
  4: consumers('new', undefined),
  5: servers('new', undefined),
}

/** How far the clocks of the servers and of this machine may differ. */
const clockSlackMs = 5_000

/**
 * Determines the state of the rotation to the secret `next`. `answers` come from as many servers as could be asked: each reports
 * its own secrets, and all report the same consumers.
 */
export function planRotation(answers: readonly Secrets[], next: string, now: number): RotationState {
  const newest = answers.at(-1)!
  const apps = appStates(newest, next)
  const at = (step: RotationState['step'], verdict: RotationState['verdict'], why: string, ...todo: string[]) => ({
    step,
    verdict,
    why,
    todo,
    apps,
  })
  const accepting = answers.filter((answer) => kidsOf(answer).includes(next))
  const signing = answers.filter(({ current }) => current.kid === next)
  const behind = apps.filter(({ accepts_next }) => accepts_next !== 'all')

  if (accepting.length < answers.length) return at(1, 'wait', 'not every server accepts the next secret', toDo[1])
  if (signing.length === 0) {
    if (behind.length > 0)
      return at(2, 'wait', `not every consumer accepts the next secret: ${behind.map(untilWhen).join(', ')}`, toDo[2])
    return at(2, 'go on', 'every consumer that was seen accepts the next secret', toDo[3])
  }
  if (signing.length < answers.length) return at(3, 'wait', 'some servers sign with the next secret, others not yet', toDo[3])
  if (behind.length > 0) {
    const why = `the next secret signs, and ${behind.length === 1 ? 'an app does' : 'apps do'} not accept it everywhere: ${behind.map(untilWhen).join(', ')}`
    return at(3, 'wait', why, consumers('new', 'old'))
  }
  const end = Math.max(...answers.map(({ signing_since, access_token_seconds: life }) => Date.parse(signing_since) + life * 1000))
  const isForgotten = answers.every(({ previous }) => previous === null)
  const left = end + clockSlackMs - now
  if (left > 0 && !isForgotten) {
    return at(
      3,
      'wait',
      `tokens of the old secret are valid until ${new Date(end).toISOString()}, ${Math.ceil(left / 1000)} s from now`,
    )
  }
  const holders = apps.filter(({ accepts_others }) => accepts_others).map(({ app_code }) => app_code)
  if (isForgotten) return at(5, 'done', 'only the next secret signs and is accepted')
  if (holders.length > 0) return at(4, 'wait', `consumers still accept the old secret: ${holders.join(', ')}`, toDo[4])
  return at(answers.some(({ previous }) => previous === null) ? 5 : 4, 'go on', 'the old secret is no longer needed', toDo[5])
}

/** Like `planRotation`, for a leaked secret: it is replaced everywhere at once, and what it has signed is refused. */
export function planReplacement(answers: readonly Secrets[], next: string): RotationState {
  const newest = answers.at(-1)!
  // A consumer without the new secret is refused, and not recorded as seen. So a consumer that was seen since then has it.
  const since = Math.min(...answers.map(({ signing_since }) => Date.parse(signing_since)))
  const has = (app: string) =>
    newest.consumers.some((seen) => seen.app_code === app && seen.kid === next && Date.parse(seen.last_seen_at) >= since)
  const apps = appStates(newest, next).map((app) => ({
    ...app,
    accepts_next: has(app.app_code) ? ('all' as const) : ('none' as const),
  }))
  const isReplaced = answers.every(({ current, previous }) => current.kid === next && previous === null)
  const behind = apps.filter(({ accepts_next }) => accepts_next !== 'all').map(({ app_code }) => app_code)
  const todo = ['servers and consumers, all at once: JWT_ACCESS_SECRET=new  JWT_ACCESS_SECRET_PREVIOUS unset']
  if (!isReplaced)
    return {
      step: 1,
      verdict: 'wait',
      why: 'a server still signs with the leaked secret: restart servers and consumers now',
      todo,
      apps,
    }
  if (behind.length > 0) {
    const why = `these refuse every user until they have the new secret: ${behind.join(', ')}`
    return { step: 1, verdict: 'wait', why, todo, apps }
  }
  return { step: 1, verdict: 'done', why: 'the old secret is no longer accepted', todo: [], apps }
}

function kidsOf({ current, previous }: Secrets): string[] {
  return previous ? [current.kid, previous.kid] : [current.kid]
}

/** The app, and how long at least it holds the rotation up. */
function untilWhen({ app_code, last_seen_without: seen, clear_at: clear }: AppState): string {
  if (seen === null || clear === null) return app_code
  const time = (at: string) => at.slice(11, 19)
  return `${app_code} (last seen without it ${time(seen)}; clear at ${time(clear)} UTC, unless it is seen without it again)`
}

/** Leaves out apps with their own key, which a change of the shared secret does not affect. */
function appStates({ consumers }: Secrets, next: string): AppState[] {
  const seen = consumers.filter(({ signing }) => signing === 'shared')
  return [...new Set(seen.map(({ app_code }) => app_code))].map((app_code) => {
    const accepts_next = whoAccepts(app_code, next, seen)
    const line = seen.find((each) => each.app_code === app_code && each.kid === next)
    const without = accepts_next === 'some' ? (line?.last_missing_at ?? null) : null
    return {
      app_code,
      accepts_next,
      last_seen_without: without,
      clear_at: without && new Date(Date.parse(without) + latelyMs).toISOString(),
      accepts_others: seen.some((line) => line.app_code === app_code && line.kid !== next && isRecent(line, seen)),
    }
  })
}

/** Whether a consumer that accepts this secret was seen at about the time when any consumer of the app was last seen. */
function isRecent({ app_code, last_seen_at }: Secrets['consumers'][number], seen: Secrets['consumers']): boolean {
  const newest = Math.max(...seen.filter((line) => line.app_code === app_code).map((line) => Date.parse(line.last_seen_at)))
  return newest - Date.parse(last_seen_at) < latelyMs
}
