import { bodyOf } from '../../api/api-client.ts'
import { Failure } from '../../command-line/exit-codes.ts'
import { choiceWithStandard, positional, requiredText } from '../../command-line/options.ts'
import { readLogo, writeLogo } from '../../nouns/app-logo.ts'
import { parseAppRef } from '../../nouns/app-ref.ts'
import { allPermissionsNote, appBody, appSettings, inFlags, isSameApp } from '../../nouns/app-settings.ts'
import { noteNewPools } from '../../nouns/pool-names.ts'
import { record } from '../../output/output.ts'
import { command } from '../../tools/command.ts'

export const createApp = command({
  path: 'app create',
  options: {
    code: positional('CODE', 'Code of the new app, in kebab-case. It cannot be changed later'),
    name: requiredText('NAME', 'Display name'),
    ...appSettings,
    ifExists: choiceWithStandard(['error', 'skip', 'update'], 'What to do if the code is taken', 'error'),
  },
  summary: 'Create an app',
  examples: [
    'app create shop --name Shop --redirect https://shop.example.com/callback --auto-grant',
    'app create back-office --name "Back office" --redirect https://office.example.com/* --pool staff --sign-up invitation',
    'app create mobile --name Mobile --redirect com.example.app:/cb --link shop wiki --service shop orders --dry-run',
  ],
  async run(tools, { code, ifExists, logo: file, ...settings }) {
    const { api } = tools
    const body = appBody(settings, tools.now)
    const logo = file ? readLogo(file) : undefined
    await noteNewPools(tools, [settings.pool, ...(settings.readPool ?? [])])
    try {
      const created = await inFlags(bodyOf(api.POST('/api/v1/admin/apps', { body: { ...body, code, name: settings.name } })))
      const app = (logo && (await inFlags(writeLogo(api, code, logo)))) || created
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
