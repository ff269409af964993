import { bodyOf } from '../../api/api-client.ts'
import { Failure } from '../../command-line/exit-codes.ts'
import { choiceWithStandard, flag, positional, requiredText } from '../../command-line/options.ts'
import { readLogo, writeLogo } from '../../nouns/app-logo.ts'
import { parseAppRef } from '../../nouns/app-ref.ts'
import { allPermissionsNote, appBody, appSettings, inFlags, isSameApp } from '../../nouns/app-settings.ts'
import { noteNewPools } from '../../nouns/pool-names.ts'
import { record } from '../../output/output.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

export const createApp = command({
  path: 'app create',
  options: {
    code: positional('CODE', 'Code of the new app, in kebab-case. It cannot be changed later'),
    name: requiredText('NAME', 'Display name'),
    ...appSettings,
    standard: flag('For a product that speaks OpenID Connect: confidential, with a client secret and a signing key of its own'),
    ifExists: choiceWithStandard(['error', 'skip', 'update'], 'What to do if the code is taken', 'error'),
  },
  summary: 'Create an app',
  examples: [
    'app create shop --name Shop --redirect https://shop.example.com/callback --auto-grant',
    'app create wiki --name Wiki --redirect https://wiki.example.com/private/callback --standard',
    'app create mobile --name Mobile --redirect com.example.app:/cb --link shop wiki --service shop orders --dry-run',
  ],
  async run(tools, { code, ifExists, logo: file, standard, ...settings }) {
    const { api } = tools
    const body = appBody(settings, tools.now)
    const asStandard = { client: 'confidential', permission_scope: 'roles' } as const
    const fresh = { ...(standard ? asStandard : {}), ...body, code, name: settings.name }
    const logo = file ? readLogo(file) : undefined
    await noteNewPools(tools, [settings.pool, ...(settings.readPool ?? [])])
    try {
      const created = await inFlags(bodyOf(api.POST('/api/v1/admin/apps', { body: fresh })))
      const app = (logo && (await inFlags(writeLogo(api, code, logo)))) || created
      if (standard) return record({ ...app, ...(await completeStandard(tools, code)) }, 'created')
      if (settings.permissionScope === undefined && app.permission_scope === 'services') tools.io.note(allPermissionsNote)
      return record(app, 'created')
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== 'app_code_taken' || ifExists === 'error') throw error
    }
    const path = { appId: parseAppRef(code) }
    const existing = await bodyOf(api.GET('/api/v1/admin/apps/{appId}', { params: { path } }))
    if (ifExists === 'skip') return record(existing, 'unchanged')
    const changed = await inFlags(bodyOf(api.PATCH('/api/v1/admin/apps/{appId}', { params: { path }, body })))
    const updated = (logo && (await inFlags(writeLogo(api, path.appId, logo)))) || changed
    return record(updated, isSameApp(existing, updated) ? 'unchanged' : 'updated')
  },
})

/**
 * Gives a new app a signing key of its own, which no other consumer holds, and a client secret. Nobody has a token of it yet, so the
 * steps of the key change follow one another. In a dry run there is no app to do this to.
 */
async function completeStandard(
  { api, io, settings }: Tools,
  code: string,
): Promise<{ signing?: 'own'; client_secret?: string | null }> {
  if (settings.dryRun) return {}
  const path = { appId: parseAppRef(code) }
  const takeStep = (step: 'prepare' | 'switch' | 'finish') =>
    api.POST('/api/v1/admin/apps/{appId}/signing', {
      params: { path, query: step === 'finish' ? { force: true } : {} },
      body: { step, key: 'own' },
    })
  await takeStep('prepare')
  await takeStep('switch')
  await takeStep('finish')
  const { secret } = await bodyOf(api.POST('/api/v1/admin/apps/{appId}/client-secrets', { params: { path } }))
  io.note('the client secret is not shown again')
  io.note(`authctl app show ${code} --as PRODUCT prints what to configure`)
  return { signing: 'own', client_secret: secret }
}
