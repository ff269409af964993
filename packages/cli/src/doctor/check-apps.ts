import type { components } from '@gatehouse/sdk/admin'
import { type Api, bodyOf } from '../api/api-client.ts'
import { isOpenToAnyAddress, verifiedEmailsFix } from '../nouns/app-policy.ts'
import { counted } from '../text/counted.ts'
import type { ServiceSettings } from './check-rights.ts'
import { type Finding, fault, fine, warning } from './finding.ts'

export type App = components['schemas']['App']

/** The data that the checks of an app need. */
export interface Surroundings {
  api: Api
  settings: ServiceSettings
  /** Every app, by code. */
  apps: ReadonlyMap<string, App>
}

type Check = (app: App, surroundings: Surroundings) => Promise<Finding[]> | Finding[]

const checks: Record<string, Check> = {
  status: checkStatus,
  'linked-apps': checkLinks,
  services: checkServices,
  'permission-scope': checkPermissionScope,
  tokens: checkTokens,
  'auto-grant': checkAutoGrant,
  overrides: checkOverrides,
  'verified-emails': checkVerifiedEmails,
  pools: checkPools,
  redirects: checkRedirects,
}

/** Every consumer that holds the shared secret can sign tokens for all apps that share it. */
function checkSigning(apps: readonly App[]): Finding[] {
  const sharing = apps.filter(({ signing, built_in }) => signing === 'shared' && !built_in).map(({ code }) => code)
  if (sharing.length < 2) return [fine({ check: 'signing' }, 'no two apps share a secret')]
  const message = `${counted(sharing.length, 'app')} share one secret: anyone who reads it at one of them can sign for all`
  return [fine({ check: 'signing' }, `${message} (authctl app signing CODE --step prepare begins to give an app its own key)`)]
}

/** Runs each check over these apps. A check without findings gives one line. */
export async function checkApps(apps: readonly App[], surroundings: Surroundings): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const [check, run] of Object.entries(checks)) {
    const found: Finding[] = []
    for (const app of apps) found.push(...(await run(app, surroundings)))
    findings.push(...(found.length > 0 ? found : [fine({ check }, `no problems in ${counted(apps.length, 'app')}`)]))
  }
  findings.push(...checkSigning([...surroundings.apps.values()]))
  return findings
}

/** An account that administers the service is worth the most to a thief. With `*`, which is for development, no app is named. */
export function checkSecondFactors({ admin_app_codes: codes }: ServiceSettings, apps: ReadonlyMap<string, App>): Finding[] {
  const check = 'second-factor'
  const lax = codes.filter((code) => apps.get(code)?.require_two_factor === 'off')
  if (lax.length === 0) return [fine({ check }, 'no app of AUTH_ADMIN_APP_CODES lets admins in by a password alone')]
  const message = 'it administers the service, and a password alone is enough to enter it'
  return lax.map((code) => warning({ check, app: code }, message, `authctl app update ${code} --require-two-factor everyone`))
}

function checkStatus({ code, status }: App): Finding[] {
  if (status === 'active') return []
  return [warning({ check: 'status', app: code }, 'it is inactive: no user gets a token for it', `authctl app activate ${code}`)]
}

function checkLinks({ code, linked_app_codes: links }: App, { apps }: Surroundings): Finding[] {
  const subject = { check: 'linked-apps', app: code }
  const isSkipped = (link: string) => apps.get(link)?.built_in !== false
  const known = links.filter((link) => !isSkipped(link))
  const kept = known.length > 0 ? known.join(' ') : '""'
  return [
    ...links.filter(isSkipped).map((link) => {
      const why = apps.has(link) ? 'is built in and never linked' : 'does not exist'
      return warning(subject, `it links ${link}, which ${why}: the link is skipped`, `authctl app update ${code} --link ${kept}`)
    }),
    ...known
      .filter((link) => apps.get(link)?.status !== 'active')
      .map((link) => warning(subject, `it links ${link}, which is inactive`, `authctl app activate ${link}`)),
  ]
}

async function checkServices({ code, service_codes }: App, { api }: Surroundings): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const service of service_codes) {
    if (await hasPermissions(api, service)) continue
    const message = `the service ${service} has registered no permissions: tokens carry none of its permissions`
    const fix = `authctl permission register --service ${service} -f permissions.yaml`
    findings.push(warning({ check: 'services', app: code }, message, fix))
  }
  return findings
}

async function hasPermissions(api: Api, service: string): Promise<boolean> {
  const { items } = await bodyOf(api.GET('/api/v1/admin/permissions', { params: { query: { service, limit: 1 } } }))
  return items.length > 0
}

/** The built-in service: its permissions are in every token, and no backend guards with them. */
const coreService = 'core'

/** In such an app, a guard on a permission admits every user who may enter it. */
async function checkPermissionScope({ code, permission_scope, service_codes }: App, { api }: Surroundings): Promise<Finding[]> {
  if (permission_scope === 'roles') return []
  const declared: string[] = []
  for (const service of service_codes) if (service !== coreService && (await hasPermissions(api, service))) declared.push(service)
  if (declared.length === 0) return []
  const message = `every user of it has every permission of ${declared.join(', ')}: a guard on a permission keeps no user out`
  const fix = `authctl app update ${code} --permission-scope roles`
  return [warning({ check: 'permission-scope', app: code }, message, fix)]
}

/** Proxies and servers refuse requests whose headers are too long. */
async function checkTokens({ code, permission_scope }: App, { api }: Surroundings): Promise<Finding[]> {
  const fix = permission_scope === 'roles' ? null : `authctl app update ${code} --permission-scope roles`
  return (await readWarnings(api, code)).flatMap((found) => {
    if (!('projected_token_bytes' in found)) return []
    const whose = permission_scope === 'roles' ? 'of its largest role' : 'of its users'
    const message = `the tokens ${whose} have about ${found.projected_token_bytes} bytes, which proxies may refuse`
    return [warning({ check: 'tokens', app: code }, message, fix)]
  })
}

async function readWarnings(api: Api, code: string) {
  const { warnings = [] } = await bodyOf(api.GET('/api/v1/admin/apps/{appId}', { params: { path: { appId: code } } }))
  return warnings
}

/** An auto-granting app admits every user of its pools, even those whom another app registered. */
async function checkAutoGrant({ code, auto_grant_on_signup }: App, { api }: Surroundings): Promise<Finding[]> {
  if (!auto_grant_on_signup) return []
  return (await readWarnings(api, code)).flatMap((found) => {
    if (!('through' in found)) return []
    const message = `users whom it would not register can enter: they register through ${found.through.join(', ')}, which shares a pool`
    return [warning({ check: 'auto-grant', app: code }, message, `authctl app update ${code} --auto-grant-follows-policy`)]
  })
}

const organizationAdmin = 'org_admin'

/** Checks what a new user can get by an override. Overrides count when a user enters an auto-granting app for the first time. */
function checkOverrides(app: App, { settings }: Surroundings): Finding[] {
  const { code, auto_grant_on_signup, default_organization_id, default_role_code, override_role_codes } = app
  if (!auto_grant_on_signup) return []
  const subject = { check: 'overrides', app: code }
  const findings: Finding[] = []
  if (settings.client_overrides === 'open') {
    const role = default_organization_id === null ? '' : ` and take any role in its organization, ${organizationAdmin} too`
    const message = `any user who enters may link themselves to any app${role}: it auto-grants, and AUTH_CLIENT_OVERRIDES is open`
    const level = settings.production ? fault : warning
    findings.push(level(subject, message, 'set AUTH_CLIENT_OVERRIDES=declared on the servers'))
  } else if (default_organization_id !== null && override_role_codes.includes(organizationAdmin)) {
    const kept = override_role_codes.filter((role) => role !== organizationAdmin).join(' ') || '""'
    const message = `any user who enters may ask to be ${organizationAdmin} of its organization`
    findings.push(warning(subject, message, `authctl app update ${code} --override-role ${kept}`))
  }
  if (default_role_code === organizationAdmin)
    findings.push(
      warning(
        subject,
        `every user who enters becomes ${organizationAdmin} of its organization`,
        `authctl app update ${code} --role org_member`,
      ),
    )
  return findings
}

function checkVerifiedEmails(app: App): Finding[] {
  if (!isOpenToAnyAddress(app)) return []
  const message = `anyone can register with an address of ${app.allowed_email_domains.join(' or ')} that is not theirs and get a token`
  return [warning({ check: 'verified-emails', app: app.code }, message, verifiedEmailsFix(app))]
}

async function checkPools({ code, registration_namespace, read_namespaces }: App, { api }: Surroundings): Promise<Finding[]> {
  const pools = [...new Set([registration_namespace, ...read_namespaces])]
  const findings: Finding[] = []
  for (const [index, namespace] of pools.entries()) {
    for (const other of pools.slice(index + 1)) {
      const params = { path: { namespace }, query: { with: other, limit: 1 } }
      const { items } = await bodyOf(api.GET('/api/v1/admin/namespaces/{namespace}/collisions', { params }))
      if (items.length === 0) continue
      const message = `the pools ${namespace} and ${other} share e-mails: of two users with the same one, only the first can sign in`
      findings.push(warning({ check: 'pools', app: code }, message, `authctl pool collisions ${namespace} ${other}`))
    }
  }
  return findings
}

function checkRedirects({ code, allowed_redirect_urls: urls }: App, { settings }: Surroundings): Finding[] {
  const subject = { check: 'redirects', app: code }
  // A script of an app on this origin could send the forms of the sign-in page as the user.
  const own = URL.parse(settings.public_url ?? '')?.origin
  const atService = urls
    .filter((url) => /^https?:/i.test(url) && URL.parse(url.replace(/\*$/, ''))?.origin === own)
    .map((url) =>
      warning(
        subject,
        `${url} is at the origin of the service: give the app a host of its own`,
        `authctl app update ${code} --redirect URL`,
      ),
    )
  if (!settings.production) return atService
  if (urls.length === 0)
    return [fault(subject, 'it has no redirect URL, which production mode requires', `authctl app update ${code} --redirect URL`)]
  const plain = urls.filter((url) => /^http:\/\/(?!localhost[:/]|127\.|\[::1\])/.test(url))
  const unencrypted = plain.map((url) =>
    warning(subject, `${url} is not encrypted`, `authctl app update ${code} --redirect https://…`),
  )
  return [...atService, ...unencrypted]
}
