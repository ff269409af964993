import type { components } from '@gatehouse/sdk/admin'

type Secrets = components['schemas']['Secrets']

/** The service records consumers about once a minute. A consumer that was not seen for this long, while others were, is gone. */
export const latelyMs = 5 * 60_000

/** Whether all, some or none of the consumers of an app accept a secret. */
export function whoAccepts(appCode: string, kid: string, seen: Secrets['consumers']): 'all' | 'some' | 'none' {
  const line = seen.find((each) => each.app_code === appCode && each.kid === kid)
  if (!line) return 'none'
  const isMissing = line.last_missing_at !== null && Date.parse(line.last_seen_at) - Date.parse(line.last_missing_at) < latelyMs
  return isMissing ? 'some' : 'all'
}
