import { bodyOf } from '../../api/api-client.ts'
import { usageFailure } from '../../command-line/exit-codes.ts'
import { text } from '../../command-line/options.ts'
import { appSubject, parseAppRef } from '../../nouns/app-ref.ts'
import { appBody, appSettings, inFlags, isSameApp } from '../../nouns/app-settings.ts'
import { noteNewPools } from '../../nouns/pool-names.ts'
import { record } from '../../output/output.ts'
import { command } from '../../tools/command.ts'

export const updateApp = command({
  path: 'app update',
  options: {
    code: appSubject,
    name: text('NAME', 'Display name'),
    ...appSettings,
  },
  summary: 'Change settings of an app',
  description: 'Settings that are not given stay unchanged. A list is replaced as a whole; an empty value clears a setting.',
  examples: [
    'app update shop --name "Web shop" --no-auto-grant',
    'app update shop --redirect https://shop.example.com/* --read-pool staff partners',
    'app update shop --link "" --description "" --dry-run',
  ],
  async run(tools, { code, ...settings }) {
    const { api } = tools
    const path = { appId: parseAppRef(code) }
    const body = appBody(settings)
    if (Object.keys(body).length === 0) throw usageFailure('no setting was given', 'authctl app update --help lists them')
    const before = await bodyOf(api.GET('/api/v1/admin/apps/{appId}', { params: { path } }))
    await noteNewPools(tools, [settings.pool, ...(settings.readPool ?? [])])
    const after = await inFlags(bodyOf(api.PATCH('/api/v1/admin/apps/{appId}', { params: { path }, body })))
    return record(after, isSameApp(before, after) ? 'unchanged' : 'updated')
  },
})
