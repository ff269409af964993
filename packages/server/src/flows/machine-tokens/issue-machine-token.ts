import { z } from 'zod'
import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { MachineTokenClaims } from '../../lib/access-token.ts'
import { authorityOfServiceAccount, type ServiceAuthority } from '../../lib/authority.ts'
import type { Actor, ServiceCaller } from '../../lib/caller.ts'
import { stableCode } from '../../lib/fields.ts'
import { hashOpaqueToken } from '../../lib/random.ts'
import type { AttemptLimit } from '../../lib/rate-limit.ts'
import { newId } from '../../lib/uuid.ts'
import { ServiceAccount } from '../../models/service-account.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { readCatalog } from '../../resources/catalog/catalog.ts'
import { takeAttempt } from '../../resources/rate-limits/rate-limits.ts'
import { listMachinePermissions } from '../../resources/service-accounts/service-accounts.ts'

/** RFC 6749 allows further parameters. */
export const machineTokenBody = z
  .object({
    grant_type: z.literal('client_credentials'),
    app_code: stableCode.meta({ description: 'The app that the token is for' }),
    client_id: z.string().optional().meta({ description: 'Not needed' }),
    client_secret: z.string().optional().meta({
      format: 'password',
      description: 'The token of a service account, in place of an `Authorization` header (`client_secret_post`)',
    }),
  })
  .meta({ id: 'MachineTokenRequest' })

export const machineToken = z
  .object({
    token_type: z.literal('Bearer'),
    access_token: z.string(),
    expires_in: z.int().meta({ description: 'Seconds' }),
  })
  .meta({ id: 'MachineToken' })

/** Callers keep a token for minutes, so even a whole fleet that starts at once stays below this. */
const limit: AttemptLimit = { count: 600, seconds: 60 }

/**
 * Issues a machine token. The account's row is locked meanwhile, so a rotation, a deletion or a loss of rights either commits
 * first and applies, or commits later and kills the token. Throws `scope_required`, `machine_tokens_disabled`, `app_inactive`,
 * `rate_limited`, and what authentication throws if the account's token ended in the meantime.
 */
export async function issueMachineToken(
  deps: Deps<Pool>,
  input: { bearer: string | undefined; appCode: string },
  actor: Actor & { caller: ServiceCaller },
): Promise<{ token_type: 'Bearer'; access_token: string; expires_in: number }> {
  const { caller } = actor
  assertMayGet(caller.authority, input.appCode)
  await takeAttempt(deps, `machine_token:${caller.id}`, limit)
  return transaction(deps, async (deps) => {
    const account = await holdAccount(deps, caller.id, input.bearer ?? '')
    const appCodes = account.apps.map(({ code }) => code)
    assertMayGet(authorityOfServiceAccount({ ...account, appCodes }), input.appCode)
    return sign(deps, account, input.appCode, actor)
  })
}

function assertMayGet(authority: ServiceAuthority, appCode: string): void {
  const refusal = authority.refuseMachineToken(appCode)
  if (refusal) throw new ApiError(refusal.code, refusal)
}

/**
 * Locks the account's row. Throws `token_invalid`, as `authenticateServiceAccount` does, if the bearer is no longer its token.
 */
async function holdAccount(deps: Deps<Tx>, id: string, bearer: string): Promise<ServiceAccount> {
  const account = await ServiceAccount.findLocked(deps.db, id, 'shared')
  if (account?.token_hash !== hashOpaqueToken(bearer)) throw new ApiError('token_invalid')
  return account
}

async function sign(deps: Deps<Tx>, account: ServiceAccount, appCode: string, actor: Actor) {
  // Read this with the account's row locked: closing an app to machine tokens raises the token version of its accounts.
  const catalog = await readCatalog(deps)
  const app = await catalog.findApp({ code: appCode })
  if (!app?.machine_tokens) throw new ApiError('machine_tokens_disabled')
  if (app.status !== 'active') throw new ApiError('app_inactive')
  const now = deps.clock()
  const nowSeconds = Math.floor(now / 1000)
  const issuedAt = Math.max(nowSeconds, app.min_iat, await catalog.getMinIat())
  const expiresAt = Math.floor(
    Math.min(now + deps.config.accessTtlSeconds * 1000, account.expires_at ?? Number.POSITIVE_INFINITY) / 1000,
  )
  if (expiresAt <= nowSeconds) throw new ApiError('token_expired')
  const claims: MachineTokenClaims = {
    app_id: app.id,
    app_code: app.code,
    uid: account.id,
    kind: 'service',
    tv: account.token_version,
    iss: deps.config.issuer,
    aud: app.code,
    exp: expiresAt,
    nbf: issuedAt,
    iat: issuedAt,
    jti: newId(),
    roles: ['service'],
    permissions: await listMachinePermissions(deps, account.id, app, catalog),
  }
  const accessToken = deps.accessTokens.sign(
    claims,
    (await catalog.getKeyrings()).ofApp(() => app.id),
  )
  const details = { service_account_id: account.id, expires_at: new Date(expiresAt * 1000).toISOString() }
  await recordEvent(deps, { event: 'machine_token.issued', actor, appId: app.id, details })
  return { token_type: 'Bearer' as const, access_token: accessToken, expires_in: expiresAt - nowSeconds }
}
