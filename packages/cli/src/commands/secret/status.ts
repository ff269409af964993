import { bodyOf } from '../../api-client.ts'
import type { components } from '../../api-types.ts'
import { command } from '../../command.ts'
import type { Tools } from '../../factory.ts'
import { type Result, rowsOf } from '../../output.ts'

type Secrets = components['schemas']['Secrets']

/** Consumers are noted each minute or so: what was not seen for this long, while others were, is gone. */
const latelyMs = 5 * 60_000

export const secretStatus = command({
  path: 'secret status',
  summary: 'Show which signing secrets the consumers of each app accept',
  description:
    'One line for each app and secret, by key id. ACCEPTS CURRENT is about the app: all of its consumers, some (one was lately seen ' +
    'without it), or none. During a rotation, LAST MISSING of the new secret tells when a consumer was last seen without it.',
  examples: ['secret status', 'secret status --context production', 'secret status --json'],
  options: {},
  run: runSecretStatus,
})

export async function runSecretStatus({ api, io }: Tools): Promise<Result> {
  const { current, previous, ...secrets } = await bodyOf(api.GET('/api/v1/admin/secrets'))
  const consumers = secrets.consumers.map((seen) => ({
    ...seen,
    accepts_current: whoAcceptsCurrent(seen.app_code, current.kid, secrets.consumers),
  }))
  if (consumers.length === 0) io.note('no consumer was seen: an app shows here once its backends follow the revocation feed')
  const use = (kid: string | null) => (kid === current.kid ? 'current' : kid === previous?.kid ? 'previous' : 'unknown')
  const own = rowsOf(
    [{ kid: current.kid, use: 'signs' }, ...(previous ? [{ kid: previous.kid, use: 'accepted besides' }] : [])],
    [['server', ({ use }) => use], 'kid'],
  )
  const seen = rowsOf(consumers, [
    ['app', ({ app_code }) => app_code],
    'kid',
    ['secret', ({ kid }) => use(kid)],
    ['last_seen', ({ last_seen_at }) => last_seen_at],
    ['last_missing', ({ last_missing_at }) => last_missing_at],
    'accepts_current',
  ])
  return { kind: 'report', value: { current, previous, consumers }, parts: consumers.length === 0 ? [own] : [own, '', seen] }
}

/** Of the consumers of an app, those that accept the secret that signs. */
export function whoAcceptsCurrent(appCode: string, kid: string, seen: Secrets['consumers']): 'all' | 'some' | 'none' {
  const line = seen.find((each) => each.app_code === appCode && each.kid === kid)
  if (!line) return 'none'
  const isMissing = line.last_missing_at !== null && Date.parse(line.last_seen_at) - Date.parse(line.last_missing_at) < latelyMs
  return isMissing ? 'some' : 'all'
}
