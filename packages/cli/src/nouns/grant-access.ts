import type { components } from '@gatehouse/sdk/admin'
import { type Api, bodyAndNewness, bodyOf } from '../api/api-client.ts'
import { confirmYes } from '../terminal/prompt.ts'
import { counted } from '../text/counted.ts'
import { redactUrl } from '../text/redact.ts'
import type { Tools } from '../tools/create-tools.ts'
import { type Answered, answered, type Change } from './for-users.ts'

type GrantBody = components['schemas']['GrantAccess']
type Answer = components['schemas']['GrantsToMany']

export async function grantAccess(api: Api, path: { userId: string; appId: string }, body: GrantBody): Promise<Change> {
  const call = api.POST('/api/v1/admin/users/{userId}/apps/{appId}', { params: { path }, body })
  const { body: value, isNew } = await bodyAndNewness(call)
  return { value, outcome: isNew ? 'granted' : Object.keys(body).length > 0 ? 'updated' : 'unchanged' }
}

/**
 * Grants access to many users in one request. With --dry-run the service checks them and writes nothing. On a terminal, asks
 * first about accounts that were registered by their user or a provider and whose address was never verified.
 */
export async function grantAccessToMany(tools: Tools, appId: string, users: string[], body: GrantBody): Promise<Answered[]> {
  const { api, rehearsalApi, settings, io } = tools
  const call = { params: { path: { appId } }, body: { ...body, users } }
  const path = '/api/v1/admin/apps/{appId}/grants'
  const rehearse = () => bodyOf(rehearsalApi.POST(path, { ...call, params: { ...call.params, query: { dry_run: true } } }))
  if (settings.dryRun) {
    const request = `POST ${redactUrl(`${tools.connect().baseUrl}${path.replace('{appId}', appId)}`)}`
    return (await rehearse()).items.map((item) => (item.outcome === 'failed' ? answered(item) : { outcome: 'planned', request }))
  }
  if (io.canAsk && !settings.yes) await confirmUnprovenAmong(tools, await rehearse())
  return (await bodyOf(api.POST(path, call))).items.map(answered)
}

async function confirmUnprovenAmong(tools: Tools, { items }: Answer): Promise<void> {
  const [first, ...others] = items.filter(({ grant }) => grant?.warnings?.some(({ code }) => code === 'account_unverified'))
  if (!first) return
  const who =
    others.length === 0
      ? `${first.user}, an unverified address`
      : `${first.user} and ${counted(others.length, 'other')}, unverified addresses`
  await confirmYes(tools, `give this to ${who}`)
}
