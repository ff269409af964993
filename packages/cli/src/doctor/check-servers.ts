import type { components } from '@gatehouse/sdk/admin'
import { type Api, bodyOf } from '../api/api-client.ts'
import { counted } from '../text/counted.ts'
import { type Finding, fault, faultOf, fine, warning } from './finding.ts'

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
    const message = `the server ${id} refuses the tokens of ${unknown[1]}: it does not have its JWT_ACCESS_SECRET ${unknown[0]}`
    return [fault({ check: 'servers' }, message, 'give all servers the same JWT_ACCESS_SECRET, and restart them')]
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
