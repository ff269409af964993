import type { components } from '@gatehouse/sdk/admin'
import { bodyOf } from '../../api/api-client.ts'
import { usageFailure } from '../../command-line/exit-codes.ts'
import { choice, flag } from '../../command-line/options.ts'
import { appSubject, parseAppRef } from '../../nouns/app-ref.ts'
import { type Result, rowsOf } from '../../output/output.ts'
import { confirmYes } from '../../terminal/prompt.ts'
import { command } from '../../tools/command.ts'

export const appSigning = command({
  path: 'app signing',
  options: {
    code: appSubject,
    step: choice(['prepare', 'switch', 'finish', 'abort'], 'Next step of the key change; abort undoes the last one'),
    shared: flag('With --step prepare: return to the secret that apps share'),
    force: flag('With --step finish: even if a consumer or a token still needs the old key'),
  },
  summary: 'Give an app its own signing key, or show which keys it has',
  description:
    'Each consumer holds the key that signs for its app. If apps have their own keys, the key of one app is useless at another. In this ' +
    'order no request fails. Run --step prepare. On the machine of the service, gatehouse app-secret CODE prints the new key: set it at ' +
    'the consumers as JWT_ACCESS_SECRET, and their old secret as JWT_ACCESS_SECRET_PREVIOUS. Then run --step switch, and at last ' +
    '--step finish. Without --step, shows the state of the change.',
  examples: ['app signing shop', 'app signing shop --step prepare', 'app signing shop --step finish --dry-run'],
  confirms: 'yes',
  async run(tools, { code, step, shared, force }) {
    const { api, io } = tools
    const path = { appId: parseAppRef(code) }
    if (shared && step !== 'prepare') throw usageFailure('--shared requires --step prepare')
    if (force && step !== 'finish') throw usageFailure('--force requires --step finish')
    const before = await bodyOf(api.GET('/api/v1/admin/apps/{appId}/signing', { params: { path } }))
    if (step === undefined) return shown(before, undefined)
    if (step === 'switch' && before.consumers_behind)
      io.note(`a consumer of ${before.app_code} was recently seen without the new key: it will refuse every new token`)
    if (step !== 'prepare') await confirmYes(tools, questions[step](before.app_code))
    const query = force ? { force: true } : {}
    const body = { step, key: shared ? ('shared' as const) : ('own' as const) }
    const after = await bodyOf(api.POST('/api/v1/admin/apps/{appId}/signing', { params: { path, query }, body }))
    for (const line of nextOf(after)) io.note(line)
    return shown(after, 'updated')
  },
})

const questions = {
  switch: (code: string) => `sign the tokens of ${code} with the next key`,
  finish: (code: string) => `refuse tokens of ${code} that the old key signed`,
  abort: (code: string) => `undo the last step of the key change for ${code}`,
}

type Signing = components['schemas']['Signing']

function nextOf({ app_code, state, old_tokens_until }: Signing): string[] {
  if (state === 'prepared')
    return [
      `next, on the machine of the service: gatehouse app-secret ${app_code}`,
      'set it at the consumers as JWT_ACCESS_SECRET, and their current secret as JWT_ACCESS_SECRET_PREVIOUS',
      `then: authctl app signing ${app_code} --step switch`,
    ]
  if (state === 'switched') return [`next, after ${old_tokens_until}: authctl app signing ${app_code} --step finish`]
  return []
}

function shown({ keys, ...signing }: Signing, outcome: string | undefined): Result {
  const { app_code, state, consumers_behind, old_tokens_until } = signing
  const behind = consumers_behind ? `seen ${consumers_behind.seen_at}` : 'none'
  const record = { app: app_code, signing: signing.signing, state, consumers_behind: behind, old_tokens_until }
  return {
    kind: 'report',
    value: { ...signing, keys, ...(outcome === undefined ? {} : { outcome }) },
    parts: [{ record }, '', rowsOf(keys, ['kid', 'stage', 'source', 'since'])],
  }
}
