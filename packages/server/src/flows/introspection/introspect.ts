import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { ConsumerCaller, ServiceCaller, UserCaller } from '../../lib/caller.ts'
import { looksLikeServiceToken } from '../../lib/service-token.ts'
import { authenticateCaller } from '../../resources/sessions/authenticate-caller.ts'

export type Introspection = { active: false } | { active: true; [claim: string]: unknown }

/**
 * Whether an access token is alive right now, by the database, and what it says (RFC 7662). A token of an app that the caller has
 * nothing to do with is as inactive as garbage, and no answer tells why. Throws `scope_required` to a service account.
 */
export async function introspect(deps: Deps, token: string, caller: ConsumerCaller | ServiceCaller): Promise<Introspection> {
  const refusal = caller.kind === 'consumer' ? undefined : caller.authority.refuseIntrospection()
  if (refusal) throw new ApiError(refusal.code, refusal)
  const holder = await findHolder(deps, token)
  if (!holder || !mayKnow(caller, holder)) return { active: false }
  const { claims } = holder
  return {
    ...claims,
    active: true,
    token_type: 'Bearer',
    client_id: claims.aud,
    sub: claims.uid,
    username: claims.email,
    scope: claims.permissions.join(' '),
  }
}

async function findHolder(deps: Deps, token: string): Promise<UserCaller | undefined> {
  // Asking about the token of a service account would count as its use.
  if (looksLikeServiceToken(token)) return undefined
  try {
    const holder = await authenticateCaller(deps, token)
    return holder.kind === 'user' ? holder : undefined
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return undefined
    throw error
  }
}

function mayKnow(caller: ConsumerCaller | ServiceCaller, holder: UserCaller): boolean {
  if (caller.kind === 'consumer') return holder.appId === caller.appId
  return caller.authority.mayIntrospect(holder.appCode)
}
