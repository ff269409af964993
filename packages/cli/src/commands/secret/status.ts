import { bodyOf } from '../../api/api-client.ts'
import { rowsOf } from '../../output/output.ts'
import { whoAccepts } from '../../tokens/who-accepts-secret.ts'
import { command } from '../../tools/command.ts'

export const secretStatus = command({
  path: 'secret status',
  summary: 'Show which signing secrets the consumers of each app accept',
  description:
    'One line for each app and secret, by key id. ACCEPTS CURRENT says how many consumers of the app accept the current secret: all, ' +
    'some (one was recently seen without it), or none. It is empty for an app with its own key. During a rotation, LAST MISSING of the ' +
    'new secret is when a consumer was last seen without it.',
  examples: ['secret status', 'secret status --context production', 'secret status --json'],
  options: {},
  async run({ api, io }) {
    const { service_id, current, previous, signing_since, access_token_seconds, ...secrets } = await bodyOf(
      api.GET('/api/v1/admin/secrets'),
    )
    const consumers = secrets.consumers.map((seen) => ({
      ...seen,
      accepts_current: seen.signing === 'own' ? null : whoAccepts(seen.app_code, current.kid, secrets.consumers),
    }))
    if (consumers.length === 0) io.note('no consumer was seen: an app appears here once its backends follow the revocation feed')
    const use = ({ kid, is_ours }: (typeof consumers)[number]) =>
      kid === current.kid ? 'current' : kid === previous?.kid ? 'previous' : is_ours ? 'own' : 'unknown'
    const own = rowsOf(
      [{ kid: current.kid, use: 'signs' }, ...(previous ? [{ kid: previous.kid, use: 'also accepted' }] : [])],
      [['server', ({ use }) => use], 'kid'],
    )
    const seen = rowsOf(consumers, [
      ['app', ({ app_code }) => app_code],
      'kid',
      ['secret', use],
      ['last_seen', ({ last_seen_at }) => last_seen_at],
      ['last_missing', ({ last_missing_at }) => last_missing_at],
      'accepts_current',
    ])
    return {
      kind: 'report',
      value: { service_id, current, previous, signing_since, access_token_seconds, consumers },
      parts: consumers.length === 0 ? [own] : [own, '', seen],
    }
  },
})
