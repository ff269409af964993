import type { Api } from '../api/api-client.ts'
import { readStats } from '../nouns/stats.ts'
import type { App } from './check-apps.ts'
import { type Finding, fine, warning } from './finding.ts'

const days = 7

/** Checks for deliveries that were given up recently. A delivery that arrived after it was sent again does not count. */
export async function checkWebhooks(api: Api, apps: readonly App[], now: number): Promise<Finding[]> {
  const check = 'webhooks'
  const { failed_webhooks } = await readStats(api, new Date(now - days * 86_400_000).toISOString())
  const findings = failed_webhooks.flatMap(({ app_code, webhook, failed, last_failed_at }) => {
    const app = apps.find(({ code }) => code === app_code)
    const isEnabled = app?.webhooks.some(({ name, enabled }) => name === webhook && enabled)
    if (!isEnabled) return []
    const message = `deliveries of ${webhook} that failed for good in ${days} days: ${failed}, the last ${last_failed_at}`
    return [warning({ check, app: app_code }, message, `authctl webhook redeliver --app ${app_code} --failed --since ${days}d`)]
  })
  return findings.length > 0 ? findings : [fine({ check }, `no delivery failed for good in ${days} days`)]
}
