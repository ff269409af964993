import { inspectToken } from '@gatehouse/sdk/inspect'
import { bodyOf } from '../api/api-client.ts'
import { parseDuration } from '../command-line/duration.ts'
import { Failure, usageFailure } from '../command-line/exit-codes.ts'
import { type Input, positional, requiredText, text } from '../command-line/options.ts'
import { isReadableOnTheWay } from '../command-line/settings.ts'
import { parseAppRef } from '../nouns/app-ref.ts'
import { type Result, rowsOf } from '../output/render.ts'
import type { AttackResult, Target } from '../probe/attack-backend.ts'
import { type ProbeUser, withProbeUser } from '../probe/probe-user.ts'
import { confirmYes } from '../terminal/prompt.ts'
import { counted } from '../text/counted.ts'
import { command } from '../tools/command.ts'
import type { Tools } from '../tools/create-tools.ts'
import { readSecretFile } from '../tools/read-secret-file.ts'

const options = {
  url: positional('URL', 'URL at the backend that every user of the app may GET'),
  app: requiredText('CODE', 'Code of the app of the backend', { completes: 'apps' }),
  secretFile: text(
    'FILE',
    'File with the secret that signs tokens of the app. Without it, forgeries that need the secret are not tested',
  ),
  revokedWithin: text('TIME', 'How long a revoked token may still be accepted. Default: 10s'),
}

export const probeBackend = command({
  path: 'dev probe',
  summary: 'Send a running backend tokens that it must refuse, and report those that it accepts',
  description:
    'Creates a user of the app, and sends GET requests to URL with forged, foreign, expired and malformed tokens made from the token of ' +
    'that user. Then it revokes that token, waits until it is refused, and deletes the user. All tokens are for this user, who also appears ' +
    'in the webhooks and the audit of the app. Exits with 8 if the backend accepts a token that it must refuse, and says what an attacker ' +
    'could do with it. Exits with 6 if it refuses the good token, because then the rest proves nothing. A URL on another machine needs --yes.',
  examples: [
    'dev probe http://127.0.0.1:3000/ --app shop --secret-file .gatehouse/jwt-access-secret',
    'dev probe http://127.0.0.1:3000/me --app shop',
    'dev probe https://api.example.com/me --app shop --secret-file secret --yes --json',
  ],
  options,
  confirms: 'yes',
  run: runProbe,
})

export async function runProbe(tools: Tools, input: Input<typeof options>): Promise<Result> {
  const url = parseUrl(input.url)
  const revokedWithinMs = parseWithin(input.revokedWithin ?? '10s')
  const secret = input.secretFile === undefined ? undefined : readSecretFile(input.secretFile)
  const path = { appId: parseAppRef(input.app) }
  await agree(tools, url)
  const app = await bodyOf(tools.api.GET('/api/v1/admin/apps/{appId}', { params: { path } }))
  if (tools.settings.dryRun) {
    tools.io.note(`a user would be created ${tools.place()}, tokens sent to ${url.href}, and the user deleted (--dry-run)`)
    return report({ url, app: app.code }, [])
  }
  if (secret === undefined) tools.io.note('forgeries that need the secret are not tested; --secret-file FILE tests them')
  const results = await withProbeUser(tools, app, (user) => probe(tools, { url, secret, revokedWithinMs }, user, app))
  return report({ url, app: app.code }, results)
}

async function probe(tools: Tools, target: Target, user: ProbeUser, app: { id: string; code: string }) {
  if (target.secret !== undefined) await assertSigns(user.token, target.secret, app, tools.now)
  // Loaded late, so that no other command loads code that forges tokens.
  const { attackBackend } = await import('../probe/attack-backend.ts')
  return attackBackend(tools, target, user)
}

function parseUrl(typed: string): URL {
  const url = URL.parse(typed)
  if (url && /^https?:$/.test(url.protocol) && !url.username && !url.password) return url
  throw usageFailure(`"${typed}" is not an http or https URL`, 'such as http://127.0.0.1:3000/me')
}

function parseWithin(typed: string): number {
  const milliseconds = parseDuration(typed)
  if (milliseconds !== undefined && milliseconds <= 600_000) return milliseconds
  throw usageFailure(`--revoked-within ${typed} is not a time of at most 10m`, 'such as 10s')
}

/** Asks before the tokens leave this machine: the operator of the other one gets a good token of the app until the probe ends. */
async function agree(tools: Tools, url: URL): Promise<void> {
  if (/^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname)) return
  if (isReadableOnTheWay(url.href)) tools.io.complain(`${url.origin} is plain http: the tokens can be read in transit`)
  const { settings, io, prompt } = tools
  await confirmYes({ settings, io, prompt }, `send a good token of the app, and forged ones, to ${url.host}`)
}

async function assertSigns(token: string, secret: string, app: { id: string; code: string }, now: () => number): Promise<void> {
  const { checks } = await inspectToken(token, { secrets: [secret], appCode: app.code, appId: app.id, now })
  if (checks.every(({ name, ok }) => ok || name !== 'signature')) return
  throw new Failure('invalid', `the service does not sign tokens of ${app.code} with the secret in the file`, {
    code: 'other_secret',
    hint: 'if the app has its own key, gatehouse app-secret CODE prints it; without --secret-file, the rest is tested',
  })
}

function report({ url, app }: { url: URL; app: string }, attacks: AttackResult[]): Result {
  const counts = { refused: 0, accepted: 0, unanswered: 0, untested: 0 }
  for (const { verdict } of attacks) counts[verdict] += 1
  const holes = attacks.filter(({ verdict }) => verdict === 'accepted')
  return {
    kind: 'report',
    value: { url: url.href, app, counts, attacks },
    parts: [
      rowsOf(attacks, ['verdict', 'attack', ['status', ({ status }) => status ?? '-']]),
      ...(holes.length > 0 ? ['', 'what an attacker could do:'] : []),
      ...holes.map(({ attack, harm }) => `  ${attack}: ${harm}`),
    ],
    failure: failureOf(counts),
  }
}

function failureOf({ accepted, unanswered }: { accepted: number; unanswered: number }): Failure | undefined {
  if (accepted > 0)
    return new Failure('failures', `the backend accepts ${counted(accepted, 'token')} that it must refuse`, {
      code: 'backend_has_holes',
      hint: 'docs/guard-a-backend/probe.md says how to fix each',
    })
  if (unanswered === 0) return undefined
  return new Failure(
    'unreachable',
    `the backend failed or limited the rate on ${counted(unanswered, 'request')}, so their result is unknown`,
    {
      code: 'probe_incomplete',
    },
  )
}
