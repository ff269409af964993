import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ServiceAccount } from '../../models/service-account.ts'
import { recordRevocation } from '../revocations/record-revocation.ts'

/**
 * Kills the machine tokens of an account at every app: raises its token version and tells consumers of the floor. An account that
 * may still get tokens can get new ones. Call it last in a transaction, because it takes the lock of revocations.
 */
export async function endMachineTokens(deps: Deps<Tx>, accountId: string): Promise<void> {
  await announceFloors(deps, await raiseFloor(deps, accountId))
}

/** A floor under `tv` of the machine tokens of an account. */
export interface MachineFloor {
  accountId: string
  minTokenVersion: number
}

/**
 * The part of `endMachineTokens` that may come before other writes of the transaction. You must pass the result to
 * `announceFloors` as the last write. The result is empty if there is no such account: the deletion has announced its floor.
 */
export async function raiseFloor(deps: Deps<Tx>, accountId: string): Promise<MachineFloor[]> {
  const minTokenVersion = await ServiceAccount.raiseTokenVersion(deps.db, accountId)
  return minTokenVersion === undefined ? [] : [{ accountId, minTokenVersion }]
}

/** Tells consumers of floors. Call it last in the transaction of `raiseFloor`. */
export async function announceFloors(deps: Deps<Tx>, floors: readonly MachineFloor[]): Promise<void> {
  for (const { accountId, minTokenVersion } of floors)
    await recordRevocation(deps, { userId: accountId, appId: null, sessionId: null, minTokenVersion })
}

/** Kills the machine tokens of every account that may get tokens for the app. Call it last in a transaction. */
export async function endMachineTokensOfApp(deps: Deps<Tx>, appId: string): Promise<void> {
  // Locks all rows in the order of their ids, and then takes the lock of revocations, so that transactions do not deadlock.
  const floors: MachineFloor[] = []
  for (const id of await ServiceAccount.listIdsOfApp(deps.db, appId, 'tokens:issue')) floors.push(...(await raiseFloor(deps, id)))
  await announceFloors(deps, floors)
}
