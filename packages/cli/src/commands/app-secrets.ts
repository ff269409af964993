import type { components } from '@gatehouse/sdk/admin'
import { bodyOf, pages } from '../api/api-client.ts'
import { usageFailure } from '../command-line/exit-codes.ts'
import { choice, count, flag, requiredText } from '../command-line/options.ts'
import { secretHint, variablesOf } from '../nouns/app-environment.ts'
import { appSubject, parseAppRef } from '../nouns/app-ref.ts'
import { isAbsent } from '../nouns/user-records.ts'
import { list, type Result, record, rowsOf } from '../output/render.ts'
import { confirmYes } from '../terminal/prompt.ts'
import { command } from '../tools/command.ts'

export const newClientSecret = command({
  path: 'app client-secret new',
  options: { code: appSubject },
  summary: 'Give an app a client secret and print it',
  description:
    'The secret is shown only once. An app has at most two, so that you can set the new one before you revoke the old one. It is asked ' +
    'for once the app is confidential: app update CODE --client confidential.',
  examples: ['app client-secret new grafana', 'app client-secret new grafana --json', 'app client-secret new grafana --dry-run'],
  async run({ api, io }, { code }) {
    const path = { appId: parseAppRef(code) }
    const made = await bodyOf(api.POST('/api/v1/admin/apps/{appId}/client-secrets', { params: { path } }))
    io.note('the secret is not shown again')
    return record({ app: code, ...made }, 'created')
  },
})

export const listClientSecrets = command({
  path: 'app client-secret list',
  options: { code: appSubject, limit: count('N', 'Maximum number of secrets. Default: all') },
  summary: 'List the client secrets of an app, and when each was last used',
  examples: ['app client-secret list grafana', 'app client-secret list grafana -o csv', 'app client-secret list grafana --json'],
  async run({ api }, { code, limit }) {
    const path = { appId: parseAppRef(code) }
    const secrets = pages(
      (query) => bodyOf(api.GET('/api/v1/admin/apps/{appId}/client-secrets', { params: { path, query } })),
      limit,
    )
    return list(secrets, ['id', 'created_at', 'last_used_at'], 'no client secrets')
  },
})

export const revokeClientSecret = command({
  path: 'app client-secret revoke',
  options: { code: appSubject, secret: requiredText('ID', 'Id of the secret, from app client-secret list') },
  summary: 'Revoke a client secret of an app',
  description: 'It stops working at once. Sessions continue with another secret of the app. Repeating it changes nothing.',
  examples: [
    'app client-secret revoke grafana --secret 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f --yes',
    'app client-secret revoke grafana --secret 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f --yes --reason "left in a log"',
    'app client-secret revoke grafana --secret 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f --dry-run',
  ],
  confirms: 'yes',
  async run(tools, { code, secret }) {
    await confirmYes(tools, `revoke the client secret ${secret} of ${code}`)
    const answer = { app: code, id: secret }
    try {
      const path = { appId: parseAppRef(code), secretId: secret }
      await tools.api.DELETE('/api/v1/admin/apps/{appId}/client-secrets/{secretId}', { params: { path } })
    } catch (error) {
      if (!isAbsent(error)) throw error
      // Of an unknown app, this says so.
      await tools.api.GET('/api/v1/admin/apps/{appId}', { params: { path: { appId: parseAppRef(code) } } })
      return record(answer, 'unchanged')
    }
    return record(answer, 'revoked')
  },
})

export const appEnv = command({
  path: 'app env',
  options: { code: appSubject },
  summary: 'Print the settings that a consumer of an app needs',
  description: 'The signing secret is a placeholder, because no API returns it.',
  examples: ['app env shop', 'app env shop > .env', 'app env shop -o json'],
  // The default in a pipe too: users redirect the output to a .env file.
  formats: { all: ['dotenv', 'json'], terminal: 'dotenv', pipe: 'dotenv' },
  async run({ api, connect, io }, { code }) {
    const app = await bodyOf(api.GET('/api/v1/admin/apps/{appId}', { params: { path: { appId: parseAppRef(code) } } }))
    io.note(secretHint)
    return { kind: 'variables', variables: variablesOf(app, connect().baseUrl) }
  },
})

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
