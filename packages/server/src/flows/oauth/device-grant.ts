import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor, ClientCaller } from '../../lib/caller.ts'
import { addressKey } from '../../lib/client-address.ts'
import { hashOfUserCode, newUserCode } from '../../lib/codes.ts'
import { deviceGrantType } from '../../lib/open-id.ts'
import { hashOpaqueToken, newOpaqueToken, TOKEN_PREFIXES } from '../../lib/random.ts'
import type { App } from '../../models/app.ts'
import { DeviceCode, type DeviceCodeRow } from '../../models/device-code.ts'
import { getActiveApp } from '../../resources/apps/apps.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { giveBackAttempts, takeAttempts } from '../../resources/rate-limits/rate-limits.ts'
import { assertPagesOn } from '../sign-in/page-answer.ts'
import { openField } from '../sign-in/sealed-fields.ts'
import type { AuthorizationRequest } from './authorization-request.ts'
import { exchangeAuthorizationCode } from './exchange-code.ts'

/** How long a person has, and how often a device may ask meanwhile. */
const lifeSeconds = 600
const intervalSeconds = 5
const tries = { count: 5, seconds: lifeSeconds }

/** Where a person types the code of a device. An app of other pools than the default app names itself. */
export function devicePath(code: string, said?: string): string {
  return `/device?${new URLSearchParams({ app: code, ...(said === undefined ? {} : { said }) })}`
}

/** Begins a sign-in on a device (RFC 8628). Throws `app_not_found`, `app_inactive`, `device_grant_disabled`. */
export async function beginDeviceGrant(
  deps: Deps<Pool>,
  { client, scope }: { client: ClientCaller; scope: string },
  { origin }: Actor,
) {
  assertPagesOn(deps)
  const app = await getGrantingApp(deps, client)
  const deviceCode = newOpaqueToken(TOKEN_PREFIXES.deviceCode)
  const now = deps.clock()
  const row = {
    ...{ hash: hashOpaqueToken(deviceCode), app_id: app.id, scope, created_at: now, expires_at: now + lifeSeconds * 1000 },
    ...{ ip: origin.ip || null, user_agent: origin.userAgent },
  }
  const userCode = await insertWithUserCode(deps, row)
  const isDefault = app.built_in ? deps.config.defaultAppCode === undefined : app.code === deps.config.defaultAppCode
  return {
    device_code: deviceCode,
    user_code: userCode,
    verification_uri: `${deps.config.publicUrl}${isDefault ? '/device' : devicePath(app.code)}`,
    expires_in: lifeSeconds,
    interval: intervalSeconds,
  }
}

async function insertWithUserCode(
  deps: Deps<Pool>,
  row: Omit<Parameters<typeof DeviceCode.add>[1], 'user_code_hash'>,
): Promise<string> {
  for (;;) {
    const userCode = newUserCode()
    const hash = hashOfUserCode(deps.config.encryptionKeys[0], userCode) ?? ''
    if (await DeviceCode.add(deps.db, { ...row, user_code_hash: hash })) return userCode
  }
}

async function getGrantingApp(deps: Deps, client: ClientCaller): Promise<App> {
  const app = await getActiveApp(deps, client.code)
  if (!app.device_grant) throw new ApiError('device_grant_disabled')
  return app
}

/**
 * Answers a device that asks whether it is signed in: gives tokens once a person has allowed it. Throws `authorization_pending`,
 * `slow_down`, `device_grant_denied`, `device_code_expired`, and what an exchange of a code throws.
 */
export async function pollDeviceGrant(
  deps: Deps<Pool>,
  { deviceCode, client }: { deviceCode: string; client: ClientCaller },
  actor: Actor,
) {
  const app = await getGrantingApp(deps, client)
  const of = { hash: hashOpaqueToken(deviceCode), app_id: app.id }
  const now = deps.clock()
  // Most polls are of a device that waits, and end here.
  if (await DeviceCode.notePoll(deps.db, of, { now, latest: now - intervalSeconds * 1000 }))
    throw new ApiError('authorization_pending')
  const device = await DeviceCode.find(deps.db, of)
  if (!device) throw new ApiError('invalid_grant', { detail: 'The device code is unknown' })
  if (device.state === 'denied') throw new ApiError('device_grant_denied')
  if (device.expires_at <= now) throw new ApiError('device_code_expired')
  if (device.state === 'approved')
    return exchangeAuthorizationCode(
      deps,
      { code: deviceCode, client, redirectUri: deviceGrantType, codeVerifier: undefined },
      actor,
    )
  throw new ApiError('slow_down')
}

/**
 * Finds the device whose code a person has typed. Wrong codes are counted by person and by address. Undefined if no device waits
 * with it. Throws `rate_limited`.
 */
export async function findDeviceByUserCode(
  deps: Deps<Pool>,
  { typed, userId }: { typed: string; userId: string },
  { origin }: Actor,
): Promise<DeviceCodeRow | undefined> {
  const attempts = await takeAttempts(deps, [
    [`device:user:${userId}`, tries],
    [`device:ip:${addressKey(origin.ip)}`, tries],
  ])
  const hash = hashOfUserCode(deps.config.encryptionKeys[0], typed)
  const device = hash && (await findPending(deps, { user_code_hash: hash }))
  if (!device) return undefined
  await giveBackAttempts(deps, attempts)
  return device
}

/**
 * The request with the device that it is for, for the browser whose person has typed the code: a link that somebody else made opens
 * nothing. Undefined if the device no longer waits.
 */
export async function withDevice(
  deps: Deps,
  request: AuthorizationRequest,
  browser: string | undefined,
): Promise<AuthorizationRequest | undefined> {
  if (request.deviceField === undefined) return request
  const field = openField(deps, 'device', browser, request.deviceField)
  const device = field && (await findPending(deps, { hash: field.hash }))
  return device?.app_id === request.app.id ? { ...request, scope: device.scope, device } : undefined
}

/** A device that still waits. */
async function findPending(deps: Deps, of: { hash: string } | { user_code_hash: string }): Promise<DeviceCode | undefined> {
  return DeviceCode.find(deps.db, { ...of, state: 'pending' }).where('expires_at', '>', deps.clock())
}

/** Notes that a person does not allow the sign-in of a device. */
export async function denyDevice(
  deps: Deps<Pool>,
  { app, device }: AuthorizationRequest,
  userId: string | undefined,
  actor: Actor,
): Promise<void> {
  if (!device) return
  await transaction(deps, async (deps) => {
    if (!(await DeviceCode.decide(deps.db, device.hash, { state: 'denied', now: deps.clock() }))) return
    await recordEvent(deps, { event: 'device_grant.denied', actor, userId: userId ?? null, appId: app.id })
  })
}
