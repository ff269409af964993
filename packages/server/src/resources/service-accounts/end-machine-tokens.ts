import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ServiceAccount } from '../../models/service-account.ts'
import { recordRevocation } from '../revocations/record-revocation.ts'

/**
 * Kills the machine tokens of an account at every app: its counter rises, and consumers learn of the floor. An account that may still
 * get tokens gets another one. Needs a transaction, and comes last in it, since it takes the lock of revocations.
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
 * The part of `endMachineTokens` that may come before other writes of the transaction; `announceFloors` must follow as its last write. Empty
 * if there is no such account: whoever deleted it has announced that.
 */
export async function raiseFloor(deps: Deps<Tx>, accountId: string): Promise<MachineFloor[]> {
  const minTokenVersion = await ServiceAccount.raiseTokenVersion(deps.db, accountId)
  return minTokenVersion === undefined ? [] : [{ accountId, minTokenVersion }]
}

/** Tells consumers of floors. Needs the transaction of `raiseFloor`, and comes last in it. */
export async function announceFloors(deps: Deps<Tx>, floors: readonly MachineFloor[]): Promise<void> {
  for (const { accountId, minTokenVersion } of floors)
    await recordRevocation(deps, { userId: accountId, appId: null, sessionId: null, minTokenVersion })
}

/** The same for every account that may get tokens for the app. */
export async function endMachineTokensOfApp(deps: Deps<Tx>, appId: string): Promise<void> {
  // All rows are locked, in the order of their ids, before the lock of revocations is: nobody holds one of them and waits for another.
  const floors: MachineFloor[] = []
  for (const id of await ServiceAccount.listIdsOfApp(deps.db, appId, 'tokens:issue')) floors.push(...(await raiseFloor(deps, id)))
  await announceFloors(deps, floors)
}
