import type { components } from '@gatehouse/sdk/admin'
import { type Answer, type Api, bodyOf, pages } from '../api/api-client.ts'
import { version as ownVersion } from '../command-line/version.ts'
import { faultOfFormer, sayFormer, sentenceOf } from '../nouns/audit-faults.ts'
import { ageOf, readStats } from '../nouns/stats.ts'
import { whoAccepts } from '../secrets/who-accepts-secret.ts'
import { counted } from '../text/counted.ts'
import type { Tools } from '../tools/create-tools.ts'
import type { App } from './check-apps.ts'
import { type Finding, fault, faultOf, fine, warning } from './finding.ts'

/** The clock difference that a consumer tolerates by default. */
const toleratedSkewMs = 5_000
/** Assertions of a consumer are valid for no longer than this. */
const fatalSkewMs = 60_000

/** Checks that the service answers, is ready, fits this version of authctl, and agrees with the clock of this machine. */
export async function checkService(tools: Tools): Promise<{ findings: Finding[]; isThere: boolean }> {
  const { baseUrl } = tools.connect()
  const before = tools.now()
  try {
    const health = await tools.probe('/health')
    const after = tools.now()
    const serverVersion = versionOf(health)
    if (serverVersion === undefined) {
      const hint = 'is this the address of a Gatehouse service? it comes from --base-url, AUTHCTL_BASE_URL or the context'
      return {
        findings: [fault({ check: 'service' }, `${baseUrl} answered ${health.status}, but not like a Gatehouse service`, hint)],
        isThere: false,
      }
    }
    const ready = readinessOf(await tools.probe('/ready'))
    const findings = [
      fine({ check: 'service' }, `${baseUrl} answers`),
      ready,
      compareVersions(serverVersion),
      ...compareClocks(health, before, after),
    ]
    return { findings, isThere: ready.level === 'ok' }
  } catch (thrown) {
    return { findings: [faultOf('service', thrown)], isThere: false }
  }
}

function parse(text: string): Record<string, unknown> {
  try {
    return { ...JSON.parse(text) }
  } catch {
    return {}
  }
}

function versionOf({ status, text }: Answer): string | undefined {
  const { status: health, version } = parse(text)
  return status === 200 && health === 'ok' && typeof version === 'string' ? version : undefined
}

function readinessOf({ status, text }: Answer): Finding {
  if (status === 200) return fine({ check: 'ready' }, 'the service is ready for requests')
  const { checks } = parse(text) as { checks?: Record<string, { ok: boolean; detail: string | null }> }
  const failing = Object.entries(checks ?? {}).filter(([, { ok }]) => !ok)
  const told = failing.map(([name, { detail }]) => `${name} ${detail ?? 'fails'}`).join('; ') || `it answered ${status}`
  return fault({ check: 'ready' }, `the service is not ready: ${told}`, "gatehouse check, with the server's settings")
}

function compareVersions(serverVersion: string): Finding {
  const release = (version: string) => version.split('.').slice(0, 2).join('.')
  const both = `server ${serverVersion}, authctl ${ownVersion}`
  if (release(serverVersion) === release(ownVersion)) return fine({ check: 'version' }, both)
  return warning({ check: 'version' }, `${both}: they are from different releases`, 'use the authctl that comes with the server')
}

/** The service dates its answers to the second; the answer was written somewhere between `before` and `after`. */
function compareClocks({ headers }: Answer, before: number, after: number): Finding[] {
  const date = Date.parse(headers.date ?? '')
  if (Number.isNaN(date)) return []
  const skewMs = before > date + 1000 ? before - (date + 1000) : after < date ? after - date : 0
  const amount = `this machine is ${(Math.abs(skewMs) / 1000).toFixed(0)} s ${skewMs > 0 ? 'ahead of' : 'behind'} the service`
  const fix = 'set both clocks by NTP: timedatectl set-ntp true'
  if (Math.abs(skewMs) > fatalSkewMs)
    return [fault({ check: 'clock' }, `${amount}: a consumer here can neither check tokens nor receive revocations`, fix)]
  if (Math.abs(skewMs) > toleratedSkewMs)
    return [warning({ check: 'clock' }, `${amount}: a consumer here may refuse new tokens, or accept expired ones`, fix)]
  return [fine({ check: 'clock' }, 'the clocks of this machine and the service agree')]
}

type Server = components['schemas']['Server']

const mostOffsetMs = 2_000

/** Checks that all servers of the database use the same secret, encryption key and version, and agree on the time. */
export async function checkServers(api: Api): Promise<Finding[]> {
  try {
    const { items } = await bodyOf(api.GET('/api/v1/admin/servers'))
    const findings = [...secrets(items), ...encryptionKeys(items), ...clocks(items), ...versions(items)]
    if (findings.length > 0) return findings
    return [fine({ check: 'servers' }, items.length === 1 ? 'one server runs' : `${items.length} servers run, all alike`)]
  } catch (thrown) {
    return [faultOf('servers', thrown)]
  }
}

function secrets(servers: readonly Server[]): Finding[] {
  const signers = new Map(servers.map(({ kids, id }) => [kids[0], id]))
  return servers.flatMap(({ id, kids }) => {
    const [unknown] = [...signers].filter(([kid]) => !kids.includes(kid!))
    if (!unknown) return []
    const message = `the server ${id} refuses the tokens of ${unknown[1]}, so calls fail now and then: it does not have its JWT_ACCESS_SECRET ${unknown[0]}`
    const fix = 'give all servers the same JWT_ACCESS_SECRET, and restart them; their names are MACHINE-PROCESS-…'
    return [fault({ check: 'servers' }, message, fix)]
  })
}

function encryptionKeys(servers: readonly Server[]): Finding[] {
  const unable = servers.filter(({ encryption_key_ok: isFit }) => !isFit).map(({ id }) => id)
  if (unable.length === 0) return []
  const message = `${named(unable)} cannot decrypt what other servers encrypt: their AUTH_ENCRYPTION_KEY differs`
  return [fault({ check: 'servers' }, message, 'give all servers the same AUTH_ENCRYPTION_KEY and AUTH_ENCRYPTION_KEY_PREVIOUS')]
}

function clocks(servers: readonly Server[]): Finding[] {
  return servers.flatMap(({ id, clock_offset_ms: ms }) => {
    if (Math.abs(ms) <= mostOffsetMs) return []
    const message = `the clock of the server ${id} is ${(Math.abs(ms) / 1_000).toFixed(0)} s ${ms > 0 ? 'ahead of' : 'behind'} that of the database`
    return [fault({ check: 'servers' }, message, 'set the clocks by NTP: timedatectl set-ntp true')]
  })
}

function versions(servers: readonly Server[]): Finding[] {
  const found = [...new Set(servers.map(({ version }) => version))]
  if (found.length < 2) return []
  const idsOf = (version: string) => servers.filter((server) => server.version === version).map(({ id }) => id)
  const list = found.map((version) => `${version} on ${named(idsOf(version))}`)
  return [warning({ check: 'servers' }, `several versions run: ${list.join(', ')}`, 'finish the upgrade, or go back')]
}

/** At most three, since a deployment may have many. */
function named(ids: readonly string[]): string {
  const shown = ids.slice(0, 3).join(' and ')
  return ids.length > 3 ? `${shown} and ${counted(ids.length - 3, 'other server')}` : shown
}

/**
 * Checks the ends of the audit, and tells what was found in it at an upgrade. It does not read all of it, as `audit verify` does.
 */
export async function checkAudit(api: Api): Promise<Finding[]> {
  const check = 'audit'
  const remedy = 'authctl audit verify, and docs/operate/sealed-audit.md, "When verify names an event"'
  try {
    const { fault: found, former } = await bodyOf(
      api.GET('/api/v1/admin/audit/verify', { params: { query: { cursor: 'former.' } } }),
    )
    if (found) return [fault({ check }, sentenceOf(found), remedy)]
    const before = former ? faultOfFormer(former) : undefined
    if (before !== undefined) return [warning({ check }, before, remedy)]
    return [
      fine(
        { check },
        former ? `the chain of an earlier version: ${sayFormer(former)}` : 'the ends of the audit are what was sealed',
      ),
    ]
  } catch (thrown) {
    return [faultOf(check, thrown)]
  }
}

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

/** A mail server that works takes a mail within seconds. */
const mostMailSeconds = 60

/** Checks that no mail waits for long, also one that waits for another attempt, and that none was given up lately. */
export async function checkMail(api: Api, now: number): Promise<Finding[]> {
  const check = 'mail'
  try {
    const { outbox } = await readStats(api, undefined)
    const waiting = outbox.find(({ kind }) => kind === 'mail')
    const age = waiting ? ageOf(waiting) : 0
    if (waiting && age > mostMailSeconds) {
      const message = `${counted(waiting.pending, 'mail')} to be sent, the oldest waiting for ${age} s`
      return [fault({ check }, message, 'authctl mail list --status pending shows what the mail server says')]
    }
    const { items } = await bodyOf(api.GET('/api/v1/admin/mails', { params: { query: { status: 'failed', limit: 200 } } }))
    const recent = items.filter(({ finished_at: at }) => Date.parse(at ?? '') > now - days * dayMs)
    const [last] = recent
    if (!last) return [fine({ check }, `no mail waits, and none was given up in ${days} days`)]
    const count = recent.length === 200 ? '200 or more' : recent.length
    const message = `mails that were given up in ${days} days: ${count}, the last ${last.finished_at}`
    return [warning({ check }, message, 'authctl mail list --status failed')]
  } catch (thrown) {
    return [faultOf(check, thrown)]
  }
}

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
