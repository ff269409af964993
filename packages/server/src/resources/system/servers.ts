import type { z } from 'zod'
import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { only } from '../../lib/collections.ts'
import { keyedDigest } from '../../lib/digests.ts'
import { iso } from '../../lib/timestamps.ts'
import { version } from '../../lib/version.ts'
import { Server, type ServerRow } from '../../models/server.ts'
import type { serverRecord } from './system.ts'

/** A clock that is off by more makes new tokens invalid for consumers, which tolerate five seconds. */
const mostOffsetMs = 2_000

/** What a server says of itself, besides when it was seen. */
export function describeServer({ config, sharedKeys }: Deps, id: string, startedAt: number) {
  return {
    id,
    version,
    started_at: startedAt,
    kids: sharedKeys.map((key) => key.id).join(' '),
    encryption_keys: config.encryptionKeys.map((key) => keyedDigest(key, 'server')).join(' '),
  }
}

export async function listServers({ db, clock }: Deps<Pool>): Promise<z.output<typeof serverRecord>[]> {
  const servers = await Server.listAlive(db, await Server.readClock(db, clock()))
  return servers.map((server) => ({
    id: server.id,
    version: server.version,
    started_at: iso(server.started_at),
    seen_at: iso(server.seen_at),
    clock_offset_ms: server.clock_offset_ms,
    kids: server.kids.split(' '),
    encryption_key_ok: servers.every((other) => accepts(server.encryption_keys, other.encryption_keys)),
  }))
}

export const serverFaults = ['secret', 'encryption_key', 'clock', 'version'] as const
type ServerFault = (typeof serverFaults)[number]

/**
 * What is wrong among servers of one database, as lines for the log. A request that one of them answers may be refused by another,
 * so a caller sees errors that come and go.
 */
export function faultsAmong(servers: readonly ServerRow[]): { fault: ServerFault; detail: string }[] {
  const pairs = servers.flatMap((one) => servers.filter((other) => other !== one).map((other) => [one, other] as const))
  const versions = new Map(servers.map(({ version, id }) => [version, id]))
  return [
    ...pairs
      .filter(([one, other]) => !accepts(one.kids, other.kids))
      .map(([one, other]) => ({
        fault: 'secret' as const,
        detail: `${one.id} does not accept the JWT_ACCESS_SECRET that ${other.id} signs with`,
      })),
    ...pairs
      .filter(([one, other]) => !accepts(one.encryption_keys, other.encryption_keys))
      .map(([one, other]) => ({
        fault: 'encryption_key' as const,
        detail: `${one.id} does not have the AUTH_ENCRYPTION_KEY that ${other.id} encrypts with`,
      })),
    ...servers
      .filter(({ clock_offset_ms: ms }) => Math.abs(ms) > mostOffsetMs)
      .map(({ id, clock_offset_ms: ms }) => ({
        fault: 'clock' as const,
        detail: `the clock of ${id} is ${Math.round(Math.abs(ms) / 1_000)} s ${ms > 0 ? 'ahead of' : 'behind'} that of the database`,
      })),
    ...(versions.size > 1
      ? [
          {
            fault: 'version' as const,
            detail: `several versions run: ${[...versions].map(([version, id]) => `${version} on ${id}`).join(', ')}`,
          },
        ]
      : []),
  ]
}

/** Whether the keys of one server include the first one of another. */
function accepts(keys: string, others: string): boolean {
  return keys.split(' ').includes(only(others.split(' ')))
}
