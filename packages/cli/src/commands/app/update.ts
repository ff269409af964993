import type { components } from '@gatehouse/sdk/admin'
import { bodyOf, inTurn } from '../../api/api-client.ts'
import { usageFailure } from '../../command-line/exit-codes.ts'
import { text } from '../../command-line/options.ts'
import { readLogo, writeLogo } from '../../nouns/app-logo.ts'
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
    'app update shop --redirect https://shop.example.com/* --link "" --dry-run',
    'app update shop --accent "#2f6fde" --logo shop.png --support-email help@shop.example.com',
  ],
  async run(tools, { code, logo: file, ...settings }) {
    const { api } = tools
    const path = { appId: parseAppRef(code) }
    const body = appBody(settings, tools.now)
    const logo = file ? readLogo(file) : file === undefined ? undefined : null
    const hasSettings = Object.keys(body).length > 0
    if (!hasSettings && logo === undefined) throw usageFailure('no setting was given', 'authctl app update --help lists them')
    const before = await bodyOf(api.GET('/api/v1/admin/apps/{appId}', { params: { path } }))
    await noteNewPools(tools, [settings.pool, ...(settings.readPool ?? [])])
    let after: components['schemas']['App'] = before
    const show = () => bodyOf(api.GET('/api/v1/admin/apps/{appId}', { params: { path } }))
    // Both or neither: the service judges the settings before it gets the logo.
    if (hasSettings && logo !== undefined)
      await inFlags(tools.rehearsalApi.PATCH('/api/v1/admin/apps/{appId}', { params: { path, query: { dry_run: true } }, body }))
    const setLogo = async () => {
      after = (await inFlags(writeLogo(api, path.appId, logo ?? null))) ?? (await show())
    }
    const setSettings = async () => {
      after = await inFlags(bodyOf(api.PATCH('/api/v1/admin/apps/{appId}', { params: { path }, body })))
    }
    await inTurn([...(logo === undefined ? [] : [setLogo]), ...(hasSettings ? [setSettings] : [])])
    return record(after, isSameApp(before, after) ? 'unchanged' : 'updated')
  },
})
