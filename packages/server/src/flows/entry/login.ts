import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { deviceOf } from '../../lib/device-token.ts'
import { type HashLine, hashLineOf } from '../../lib/hash-line.ts'
import { firstInPools, poolSet } from '../../lib/pool-set.ts'
import type { TokenAnswer } from '../../lib/records.ts'
import type { App } from '../../models/app.ts'
import { getActiveApp } from '../../resources/apps/get-app.ts'
import { readCatalog } from '../../resources/catalog/read-catalog.ts'
import { passSecondFactor, type SecondFactorProof } from '../../resources/second-factors/pass-second-factor.ts'
import { assertVerifiedFor } from '../../resources/sessions/assert-verified-for.ts'
import { type FoundUser, listUsersOfEmail } from '../../resources/users/find-user-in-pools.ts'
import type { PooledUser } from '../../resources/users/present.ts'
import { enter } from './enter.ts'
import type { AttemptTarget } from './record-login-failure.ts'
import { upgradeHash } from './upgrade-hash.ts'
import { verifyPassword } from './verify-password.ts'
import { byKnownDevice, byPassword, type WayIn } from './way-in.ts'
import { type CountedAttempt, withAttempt } from './with-attempt.ts'

export interface PasswordLogin {
  email: string
  password: string
  app_code?: string | undefined
  organization_id?: string | undefined
  two_factor_code?: string | undefined
  /** From an earlier answer. It shows that the device is known. */
  device_token?: string | undefined
  role_code?: string | undefined
  linked_app_codes?: string[] | undefined
}

/**
 * Joins an organization for `register_or_login`. Runs in the login's transaction, after the credentials are checked and before
 * the gate.
 */
export type AcceptInvitation = (deps: Deps<Tx>, user: PooledUser) => Promise<{ user: PooledUser; opensSignUp: boolean }>

/**
 * Logs in with a password. The steps, as a caller can observe them: count the attempt against its limit, find the app, find the
 * user, refuse a locked way in, verify the password, refuse an address that the app wants verified and that is not, pass the
 * second factor, and then the gate, which checks account, roles and grant (`docs/flows/login.md`). A wrong password, an unknown
 * user, a user outside the app's pools and a deleted user cannot be told apart: they take the same time and give the same
 * `invalid_credentials`. Anything that depends on the account is disclosed only after a correct password. Also throws
 * `rate_limited`, `account_locked`, `app_code_required`, `app_not_found`, and what the second factor and the gate throw.
 */
export async function login(
  deps: Deps<Pool>,
  input: PasswordLogin,
  actor: Actor,
  acceptInvitation?: AcceptInvitation,
): Promise<TokenAnswer> {
  return withPassword(
    deps,
    input,
    {
      check(app, user) {
        // An invitation may verify the address. With one, the gate checks the address later.
        if (user.status === 'active' && !acceptInvitation) assertVerifiedFor(app, user)
      },
      async use({ user, line, ...proven }) {
        const storeUpgrade = await upgradeHash(deps, input.password, user, line)
        const overrides = { roleCode: input.role_code, linkedAppCodes: input.linked_app_codes }
        const proof = { ...proven, overrides, authMethod: 'password' }

        return transaction(deps, async (deps) => {
          const accepted = await acceptInvitation?.(deps, user)
          const entering = { user: accepted?.user ?? user, invitation: accepted }
          const tokens = await enter(deps, { ...proof, ...entering, organizationId: input.organization_id }, actor)
          await storeUpgrade?.(deps)
          return tokens
        })
      },
    },
    actor,
  )
}

/** A user of an app who has passed the password and the second factor. */
interface Proven {
  user: FoundUser
  app: App | null
  secondFactor: SecondFactorProof
  counted: CountedAttempt
  /** The line in which hashes for this caller wait. */
  line: HashLine
}

interface PasswordSteps<R> {
  /** Checks the account before the second factor is asked for. */
  check?(app: App | null, user: FoundUser): void
  use(proven: Proven): Promise<R>
}

/**
 * Runs one attempt with a password, and a second factor if one is active. `use` runs once both have passed. Throws what `login`
 * throws before the gate.
 */
export async function withPassword<R>(
  deps: Deps<Pool>,
  input: PasswordLogin,
  { check, use }: PasswordSteps<R>,
  actor: Actor,
): Promise<R> {
  return withAttempt(
    deps,
    {
      target: () => findTarget(deps, input),
      named: { email: input.email, appCode: input.app_code },
      way: (target) => wayOf(deps, input, target),
      async prove({ app, user: named }, counted) {
        const line = hashLineOf(actor, counted.way.device)
        const user = await verifyPassword(deps, input.password, named, line)
        check?.(app, user)
        const secondFactor = await passSecondFactor(deps, user, input.two_factor_code, actor)
        return use({ user, app, secondFactor, counted, line })
      },
    },
    actor,
  )
}

interface PasswordTarget extends AttemptTarget {
  user: FoundUser | undefined
  app: App | null
  /** All users with this address. */
  users: readonly FoundUser[]
  /** Earlier device tokens are dead. */
  minIat: number
}

async function findTarget(deps: Deps, { email, app_code }: PasswordLogin): Promise<PasswordTarget> {
  const { users, catalogGeneration } = await listUsersOfEmail(deps, email)
  const app = await resolveApp(deps, app_code, catalogGeneration)
  const minIat = await (await readCatalog(deps, catalogGeneration)).getMinIat()
  return { email, app, user: firstInPools(users, poolSet(app)), users, minIat }
}

/** Ignores a device token that is not valid for this user. */
function wayOf(deps: Deps, { email, device_token: token }: PasswordLogin, target: PasswordTarget | undefined): WayIn {
  if (!target) return byPassword(deps, { email, pools: [], users: [] })
  const { app, user, users, minIat } = target
  const owner = user && { ...user, factor_activated_at: user.factor?.activated_at ?? null }
  const device =
    token === undefined ? undefined : deviceOf(deps.config.encryptionKeys, token, owner, { now: deps.clock(), minIat })
  if (user && device !== undefined) return byKnownDevice(deps, user, device)
  return byPassword(deps, { email, pools: poolSet(app), user, users })
}

/** Returns null for a login without an app, if the settings allow one. Its pool set is then `default`. */
async function resolveApp(deps: Deps, code: string | undefined, catalogGeneration: string): Promise<App | null> {
  if (code !== undefined) return getActiveApp(deps, code, catalogGeneration)
  if (deps.config.requireAppCode) throw new ApiError('app_code_required', { detail: 'app_code: is required' })
  return null
}
