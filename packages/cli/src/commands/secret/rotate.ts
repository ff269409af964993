import type { components } from '@gatehouse/sdk/admin'
import { keyIdOf } from '@gatehouse/sdk/protocol'
import { bodyOf } from '../../api/api-client.ts'
import { Failure, usageFailure } from '../../command-line/exit-codes.ts'
import { flag, type Input, text, toggle } from '../../command-line/options.ts'
import { type Result, rowsOf } from '../../output/output.ts'
import { writeFile } from '../../terminal/write-file.ts'
import { makeSecret } from '../../tokens/make-secret.ts'
import { planReplacement, planRotation, type RotationState } from '../../tokens/plan-rotation.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'
import { readSecretFile } from '../../tools/read-secret-file.ts'

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
    'docs/rotating-the-secret.md. Consumers are those that follow the revocation feed.',
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
