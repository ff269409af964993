import type { components } from '@gatehouse/sdk/admin'
import { type ContextStore, findContext, type StoredTokens } from '../command-line/contexts.ts'
import { Failure } from '../command-line/exit-codes.ts'
import { type Connection, normalizeBaseUrl } from '../command-line/settings.ts'
import { type Api, type Bearer, bodyOf, createApi, type Session, type Wire } from './api-client.ts'

/** The built-in app of authctl. */
export const ownAppCode = 'authctl'

const renewalMarginMs = 30_000

export function storedTokens(answer: components['schemas']['Tokens'], now: number): StoredTokens {
  const lifeMs = answer.expires_in * 1000
  return {
    access_token: answer.access_token,
    access_expires_at: now + lifeMs,
    // With a fixed margin, a short-lived token would be renewed with every call.
    renew_at: now + lifeMs - Math.min(renewalMarginMs, lifeMs / 4),
    refresh_token: answer.refresh_token,
    refresh_expires_at: now + answer.refresh_expires_in * 1000,
  }
}

/** The session of a token from AUTHCTL_TOKEN or --token-file. It cannot be renewed, because it has no refresh token. */
export function givenSession(token: string): Session {
  return {
    bearer: async () => ({ token, isNew: false }),
    renew: async () => undefined,
    hint: 'tokens from AUTHCTL_TOKEN and --token-file are not renewed: provide a new one, or remove it and sign in: authctl login',
  }
}

function notSignedIn(message: string, hint: string): Failure {
  return new Failure('notSignedIn', message, { code: 'not_signed_in', hint })
}

/** The command that signs in again. It names the context if another one is in use. */
function loginHint(contextName: string, current: string | null): string {
  return contextName === (current ?? 'default') ? 'authctl login' : `authctl login --context ${contextName}`
}

/**
 * The session of a context. Its tokens are renewed before they expire, and when the service refuses them. Within this process a
 * token is renewed once, however many requests wait for it; processes take turns.
 */
export function contextSession(wire: Wire, contexts: ContextStore, connection: Connection): Session {
  const { contextName, context, baseUrl } = connection
  let tokens = context?.tokens ?? undefined
  let underWay: Promise<Bearer> | undefined

  async function renew(rejected: string): Promise<Bearer> {
    // Another request of this process may have renewed it meanwhile.
    if (tokens && tokens.access_token !== rejected) return { token: tokens.access_token, isNew: false }
    underWay ??= renewStored(rejected).finally(() => {
      underWay = undefined
    })
    return underWay
  }

  async function renewStored(rejected: string): Promise<Bearer> {
    let isNew = false
    // Read the file again: another process may have renewed the token since.
    tokens = await contexts.change(async (file) => {
      const stored = findContext(file, contextName)
      if (!stored?.tokens) throw notSignedIn('not signed in', loginHint(contextName, file.current))
      if (stored.tokens.access_token === rejected || stored.tokens.renew_at <= wire.world.now()) {
        stored.tokens = await renewed(
          createApi({ ...wire, settings: { ...wire.settings, dryRun: false } }, baseUrl, undefined),
          stored.tokens,
          {
            now: wire.world.now,
            hint: loginHint(contextName, file.current),
          },
        )
        isNew = true
      }
      return stored.tokens
    })
    return { token: tokens.access_token, isNew }
  }

  return {
    async bearer() {
      if (context && normalizeBaseUrl(context.base_url) !== baseUrl) {
        // A typed address must not send the token of one service to another.
        throw notSignedIn(
          `not signed in at ${baseUrl}: the context "${contextName}" is for ${context.base_url}`,
          `authctl login --base-url ${baseUrl} --context NAME`,
        )
      }
      if (!tokens) throw notSignedIn(`not signed in at ${baseUrl}`, loginHint(contextName, contexts.read().current))
      if (tokens.renew_at > wire.world.now()) return { token: tokens.access_token, isNew: false }
      return renew(tokens.access_token)
    },
    renew,
  }
}

async function renewed(api: Api, spent: StoredTokens, { now, hint }: { now(): number; hint: string }): Promise<StoredTokens> {
  try {
    const answer = await bodyOf(api.POST('/api/v1/auth/refresh', { body: { refresh_token: spent.refresh_token } }))
    return storedTokens(answer, now())
  } catch (error) {
    if (!(error instanceof Failure) || error.ending === 'unreachable') throw error
    const { code, requestId } = error
    throw new Failure('notSignedIn', `the session has ended: ${error.message}`, { code, hint, requestId })
  }
}
