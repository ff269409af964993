import { type Api, bodyOf, pages } from '../api/api-client.ts'
import { counted } from '../text/counted.ts'
import { whoAccepts } from '../tokens/who-accepts-secret.ts'
import { type Finding, fault, fine, warning } from './finding.ts'

const dayMs = 86_400_000
/** Leaves enough time to give a program another token. */
const soonMs = 30 * dayMs
/** A consumer that was not seen for this long counts as gone. */
const goneMs = 7 * dayMs

/** Checks whether the consumers of each app, or of one app, accept the secret that signs. */
export async function checkSecrets(api: Api, appCode: string | undefined, now: number): Promise<Finding[]> {
  const check = 'secrets'
  const { current, previous, consumers } = await bodyOf(api.GET('/api/v1/admin/secrets'))
  const seen = consumers.filter(
    ({ app_code, last_seen_at }) => (appCode === undefined || app_code === appCode) && now - Date.parse(last_seen_at) < goneMs,
  )
  const codes = [...new Set(seen.map(({ app_code }) => app_code))].sort()
  const refusing = codes.flatMap((app) => {
    const who = whoAccepts(app, current.kid, seen)
    if (who === 'all') return []
    const told = who === 'some' ? 'some consumers do not accept' : 'no consumer accepts'
    return [fault({ check, app }, `${told} the secret that signs (key id ${current.kid})`, 'authctl secret status')]
  })
  if (refusing.length > 0) return refusing
  if (previous)
    return [warning({ check }, `the previous secret (key id ${previous.kid}) is still accepted`, 'authctl secret status')]
  return [fine({ check }, `the consumers of ${counted(codes.length, 'app')} accept the secret that signs`)]
}

/** Checks for service accounts that end soon, or that hold scopes but have no app left to use them for. */
export async function checkServiceAccounts(api: Api, now: number): Promise<Finding[]> {
  const check = 'service-accounts'
  const findings: Finding[] = []
  let count = 0
  const all = pages((page) => bodyOf(api.GET('/api/v1/admin/service-accounts', { params: { query: page } })))
  for await (const page of all) {
    count += page.length
    for (const { id, name, service, scopes, expires_at, app_codes } of page) {
      const leftMs = expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(expires_at) - now
      const typed = JSON.stringify(name)
      const end = `authctl service-account delete ${id} --confirm ${typed}`
      // Names are unique, and the old account works until its successor is in use.
      const renew = `authctl service-account create ${JSON.stringify(successorOf(name))} --service ${service}, then ${end}`
      if (leftMs <= 0) findings.push(fault({ check }, `the token of "${name}" expired at ${expires_at}`, renew))
      else if (leftMs < soonMs) findings.push(warning({ check }, `the token of "${name}" expires at ${expires_at}`, renew))
      // Such an account was created with an app, so its apps were deleted.
      const idle = app_codes.length === 0 ? scopes.filter((scope) => scope !== 'permissions:register') : []
      if (idle.length > 0)
        findings.push(
          warning({ check }, `"${name}" holds ${idle.join(', ')} but has no app left: all its apps were deleted`, end),
        )
    }
  }
  return findings.length > 0 ? findings : [fine({ check }, `${counted(count, 'service account')}, none expires within 30 days`)]
}

/** `worker` is followed by `worker 2`, and that by `worker 3`. */
function successorOf(name: string): string {
  const [, stem = name, turn = '1'] = /^(.+) (\d{1,9})$/.exec(name) ?? []
  return `${stem} ${Number(turn) + 1}`
}
