import { timingSafeEqual } from 'node:crypto'
import { keyedDigest } from './digests.ts'
import { randomText } from './random.ts'

const lifeMs = 180 * 86_400_000
const form = /^gdt_((?<time>[0-9a-z]{1,11})\.(?<device>[\w-]{22}))\.(?<mac>[\w-]{43})$/

/** What a device token is bound to. A change of any member kills the token. */
export interface DeviceOwner {
  id: string
  email: string
  /** Rises with every change that ends all sessions of the user. */
  min_token_version: number
  /** When the active second factor was activated; null without one. */
  factor_activated_at: number | null
}

type Keys = readonly [Buffer, ...Buffer[]]

/**
 * A token that a client sends with its next login, to show that this device has logged the user in before. The service does not
 * store it. It reveals nothing about the user and replaces neither the password nor the second factor. Like the `iat` of an access
 * token, its time is not before `minIat`, in seconds, which the restore of a backup sets slightly ahead.
 */
export function newDeviceToken([key]: Keys, owner: DeviceOwner, { now, minIat }: { now: number; minIat: number }): string {
  const time = Math.max(now, minIat * 1_000).toString(36)
  const device = randomText(16)
  return `gdt_${time}.${device}.${macOf(key, owner, time, device)}`
}

/** Used as the owner if no user has the address, so that checking a token takes the same time. */
const nobody: DeviceOwner = { id: '', email: '', min_token_version: 0, factor_activated_at: null }

/**
 * The device that a token stands for. Undefined if the token is another owner's, expired, dead, or older than `minIat`, in seconds.
 * Accepts each of the keys.
 */
export function deviceOf(
  keys: Keys,
  token: string,
  owner: DeviceOwner | undefined,
  { now, minIat }: { now: number; minIat: number },
): string | undefined {
  const { time, device, mac } = form.exec(token)?.groups ?? {}
  if (time === undefined || device === undefined || mac === undefined) return undefined
  const given = Buffer.from(mac)
  const isGenuine = keys
    .map((key) => Buffer.from(macOf(key, owner ?? nobody, time, device)))
    .reduce((found, genuine) => timingSafeEqual(genuine, given) || found, false)
  const issuedAt = Number.parseInt(time, 36)
  return owner && isGenuine && issuedAt >= minIat * 1_000 && now - issuedAt < lifeMs ? device : undefined
}

function macOf(key: Buffer, owner: DeviceOwner, time: string, device: string): string {
  const { id, email, min_token_version: floor, factor_activated_at: factor } = owner
  return keyedDigest(key, 'device-token', id, email, String(floor), String(factor), time, device)
}
