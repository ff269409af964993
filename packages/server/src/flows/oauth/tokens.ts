import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError } from '../../errors.ts'
import { type Actor, type ClientCaller, hasAuthenticated, type UserCaller } from '../../lib/caller.ts'
import { deviceGrantType } from '../../lib/open-id.ts'
import { hashOpaqueToken } from '../../lib/random.ts'
import { looksLikeServiceToken } from '../../lib/service-token.ts'
import { RefreshToken } from '../../models/refresh-token.ts'
import { endSession } from '../../resources/revocations/end-tokens.ts'
import { authenticateServiceAccount } from '../../resources/service-accounts/service-accounts.ts'
import { findHolder, readCaller } from '../../resources/sessions/authenticate-caller.ts'
import { issueMachineToken } from '../machine-tokens/issue-machine-token.ts'
import { logout, refresh } from '../refresh/refresh.ts'
import { pollDeviceGrant } from './device-grant.ts'
import { exchangeAuthorizationCode } from './exchange-code.ts'
import type { TokenInput } from './schema.ts'

/**
 * The token endpoint of OAuth 2.1. Each grant is what the API does elsewhere: a code opens an app session, a refresh token rotates,
 * and a service account gets a machine token. Throws `unsupported_grant_type`, `validation_failed`, and what the grant throws.
 */
export async function grantTokens(
  deps: Deps<Pool>,
  input: TokenInput,
  { bearer, client }: { bearer: string | undefined; client: ClientCaller | undefined },
  actor: Actor,
) {
  switch (input.grant_type) {
    case 'authorization_code': {
      const caller = needed(client)
      return exchangeAuthorizationCode(
        deps,
        {
          code: required(input, 'code'),
          client: caller,
          redirectUri: required(input, 'redirect_uri'),
          // Only a confidential app may have asked for a code without a challenge.
          codeVerifier: caller.hasShownSecret ? input.code_verifier || undefined : required(input, 'code_verifier'),
        },
        actor,
      )
    }
    case deviceGrantType:
      return pollDeviceGrant(deps, { deviceCode: required(input, 'device_code'), client: needed(client) }, actor)
    case 'refresh_token': {
      const refresh_token = required(input, 'refresh_token')
      return refresh(deps, { refresh_token, client: needed(client), organization_id: input.organization_id }, actor)
    }
    case 'client_credentials': {
      const appCode = required(input, 'app_code')
      if (bearer === undefined) throw new ApiError('token_missing')
      if (!looksLikeServiceToken(bearer))
        throw new ApiError('token_invalid', { detail: 'The token of a service account is required' })
      const caller = await authenticateServiceAccount(deps, bearer)
      const refusal = caller.authority.refuseWithout('tokens:issue')
      if (refusal) throw new ApiError(refusal.code, refusal)
      return issueMachineToken(deps, { bearer, appCode }, { ...actor, caller })
    }
    default:
      throw new ApiError('unsupported_grant_type')
  }
}

/** The app that calls. Throws `validation_failed` if the call names none. */
export function needed(client: ClientCaller | undefined): ClientCaller {
  if (!client) throw fieldError('client_id', 'required', 'is required')
  return client
}

function required(input: TokenInput, field: keyof TokenInput): string {
  const value = input[field]
  if (value === undefined || value === '') throw fieldError(field, 'required', 'is required')
  return value
}

/**
 * Ends the session of a refresh token or of an access token (RFC 7009). An unknown token, and one of another app than the client,
 * is left alone, and the caller is not told. Throws `invalid_client` if the app is confidential and has not authenticated.
 */
export async function revokeToken(
  deps: Deps<Pool>,
  { token, client }: { token: string; client: ClientCaller | undefined },
  actor: Actor,
): Promise<void> {
  const holder = await findHolder(deps, token, (claims) => readCaller(deps, claims))
  const app = holder ? appOf(holder) : await RefreshToken.findApp(deps.db, hashOpaqueToken(token))
  if (client && app?.code !== client.code) return
  if (app && !hasAuthenticated(app, client))
    throw new ApiError('invalid_client', { detail: 'The app must send its client secret' })
  if (!holder) return logout(deps, token, actor)
  await endSession(deps, { id: holder.sessionId, user_id: holder.userId, app_id: holder.appId }, 'logout', actor)
}

function appOf({ appCode: code, isOfConfidential }: UserCaller) {
  return code === null ? undefined : ({ code, client: isOfConfidential ? 'confidential' : 'public' } as const)
}
