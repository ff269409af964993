import type { Answer } from '../api/api-client.ts'
import { version as ownVersion } from '../command-line/version.ts'
import type { Tools } from '../tools/create-tools.ts'
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
