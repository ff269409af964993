import type { components } from '@gatehouse/sdk/admin'
import { keyIdOf } from '@gatehouse/sdk/protocol'
import { bodyOf } from '../api/api-client.ts'
import { Failure, usageFailure } from '../command-line/exit-codes.ts'
import { flag, type Input, text, toggle } from '../command-line/options.ts'
import { commonFormats } from '../command-line/settings.ts'
import { type Result, record, rowsOf } from '../output/render.ts'
import { planReplacement, planRotation, type RotationState } from '../secrets/plan-rotation.ts'
import { whoAccepts } from '../secrets/who-accepts-secret.ts'
import { writeFile } from '../terminal/write-file.ts'
import { command } from '../tools/command.ts'
import type { Tools } from '../tools/create-tools.ts'
import { readSecretFile } from '../tools/read-secret-file.ts'

/** A short form of docs/operate/rotating-the-secret.md. */
const rotation = [
  'to rotate to it without a failed request, complete each step before the next:',
  '1. servers:   JWT_ACCESS_SECRET=old  JWT_ACCESS_SECRET_PREVIOUS=new',
  '2. consumers: JWT_ACCESS_SECRET=new  JWT_ACCESS_SECRET_PREVIOUS=old',
  '   then authctl secret rotate, until it says go on',
  '3. servers:   JWT_ACCESS_SECRET=new  JWT_ACCESS_SECRET_PREVIOUS=old',
  '   then wait for the lifetime of an access token (JWT_ACCESS_TTL_SECONDS)',
  '4. consumers: JWT_ACCESS_SECRET=new  JWT_ACCESS_SECRET_PREVIOUS unset',
  '5. servers:   JWT_ACCESS_SECRET=new  JWT_ACCESS_SECRET_PREVIOUS unset',
]

export const newSecret = command({
  path: 'secret new',
  options: {
    webhook: flag('A secret for a webhook instead: whsec_…'),
    out: text('FILE', 'New file for the secret, instead of the terminal'),
  },
  summary: 'Print a new random signing secret',
  description:
    'The secret is 48 random bytes in base64, printed without anything else unless -o json is given. The steps of a rotation go to ' +
    'stderr. With --out the secret goes only to that file, which only you can read and which must not exist yet. Nothing is sent. ' +
    'With --webhook it is whsec_ and 32 random bytes: set it in the webhooks of the app, and in the receiver.',
  examples: ['secret new --out secret.txt', 'secret new --json', 'secret new --webhook'],
  // Bare in a pipe too: users redirect the output to a file.
  formats: { all: commonFormats, terminal: 'table', pipe: 'table' },
  async run({ io, settings }, { webhook, out }) {
    const { secret, ...more } = webhook ? { secret: await makeWebhookSecret() } : await makeSecret()
    if ('kid' in more) for (const line of [...rotation, `its key id is ${more.kid}`]) io.note(line)
    if (out !== undefined) {
      if (settings.dryRun) return record({ file: out })
      // Never replaces a file: it may hold the secret that signs right now.
      writeFile(out, `${secret}\n`, { isPrivate: true, replaces: false })
      return record({ file: out, ...more }, 'written')
    }
    return { kind: 'report', value: { secret, ...more }, parts: [secret] }
  },
})

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

type Secrets = components['schemas']['Secrets']

const options = {
  next: text('KID', 'Key id of the next secret, as secret new prints it'),
  secretFile: text('FILE', 'Instead of --next: file with the secret. Its key id is computed here, and the secret is not sent'),
  new: text('FILE', 'Instead of --next: create the secret in this new file, which only you can read'),
  leaked: flag('The secret that signs has leaked: replace it everywhere at once, and invalidate its tokens'),
  watch: toggle('Check every few seconds until the step is complete. Default: only on a terminal'),
}

export const rotateSecret = command({
  path: 'secret rotate',
  summary: 'Guide a change of the signing secret: show its state, and whether to wait or to go on',
  description:
    'Changes nothing: you restart servers and consumers, and it says which ones, and with which secrets. VERDICT is wait while the step ' +
    'is not complete, go on for the next step, or done. It checks whether all servers and consumers accept the next secret, and reads ' +
    'several answers, so that it likely reaches every server behind a load balancer. The steps are those of ' +
    'docs/operate/rotating-the-secret.md. Consumers are those that follow the revocation feed.',
  examples: [
    'secret rotate --new secret.txt',
    'secret rotate --leaked --new secret.txt',
    'secret rotate --secret-file secret.txt',
  ],
  options,
  async run(tools, input) {
    const next = await nextKid(tools, input)
    const look = async (): Promise<RotationState> => {
      const answers = await askServers(tools)
      if (next === undefined) return begin(input.leaked)
      return input.leaked ? planReplacement(answers, next) : planRotation(answers, next, tools.now())
    }
    let state = await look()
    const watches = next !== undefined && (input.watch ?? tools.io.canAsk)
    for (let told = ''; watches && state.verdict === 'wait'; state = await look()) {
      if (told !== state.why) for (const line of [state.why, ...state.todo.map((todo) => `  ${todo}`)]) tools.io.note(line)
      told = state.why
      await tools.sleep(pollMs)
    }
    return report(state, next)
  },
})

/** Requests per check. A balancer spreads them over its servers. */
const samples = 6
const pollMs = 2_000

/** The key id of the next secret. Undefined if no secret was named yet. */
async function nextKid(
  { settings, io }: Tools,
  { next, secretFile, ...input }: Input<typeof options>,
): Promise<string | undefined> {
  if ([next, secretFile, input.new].filter((given) => given !== undefined).length > 1)
    throw usageFailure('--next, --secret-file and --new contradict each other')
  if (input.new !== undefined) {
    const { secret, kid } = await makeSecret()
    if (!settings.dryRun) writeFile(input.new, `${secret}\n`, { isPrivate: true, replaces: false })
    io.note(`the next secret is in ${input.new}; later: authctl secret rotate --secret-file ${input.new}`)
    return kid
  }
  if (secretFile !== undefined) {
    const { hash } = await import('node:crypto')
    return keyIdOf(readSecretFile(secretFile), hash)
  }
  if (next === undefined || /^[0-9a-f]{8}$/.test(next)) return next
  throw new Failure('invalid', `"${next}" is not a key id`, {
    code: 'invalid_kid',
    hint: 'eight hex digits, as secret new and secret status show them',
  })
}

async function askServers({ api }: Tools): Promise<Secrets[]> {
  const answers: Secrets[] = []
  for (let turn = 0; turn < samples; turn += 1) answers.push(await bodyOf(api.GET('/api/v1/admin/secrets')))
  return answers
}

function begin(leaked: boolean): RotationState {
  return {
    step: 1,
    verdict: 'go on',
    why: 'no next secret was given',
    todo: [`authctl secret rotate --new secret.txt${leaked ? ' --leaked' : ''}`],
    apps: [],
  }
}

function report({ apps, ...state }: RotationState, next: string | undefined): Result {
  const { step, verdict, why, todo } = state
  const table = rowsOf(apps, [
    ['app', ({ app_code }) => app_code],
    ['accepts_next', ({ accepts_next }) => accepts_next],
    ['accepts_others', ({ accepts_others }) => accepts_others],
  ])
  return {
    kind: 'report',
    value: { next: next ?? null, ...state, apps },
    parts: [
      { record: { next: next ?? null, step, verdict, why } },
      ...(todo.length > 0 ? ['', ...todo.map((line) => `  ${line}`)] : []),
      ...(apps.length > 0 ? ['', table] : []),
    ],
  }
}

const bytes = 48
const webhookBytes = 32

/** A fresh random signing secret, and its key id. */
async function makeSecret(): Promise<{ secret: string; kid: string }> {
  // Loaded late: most commands do not need it.
  const { hash, randomBytes } = await import('node:crypto')
  const secret = randomBytes(bytes).toString('base64')
  return { secret, kid: keyIdOf(secret, hash) }
}

/** A fresh random secret for a webhook, in the form of Standard Webhooks. */
async function makeWebhookSecret(): Promise<string> {
  const { randomBytes } = await import('node:crypto')
  return `whsec_${randomBytes(webhookBytes).toString('base64')}`
}
