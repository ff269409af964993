import Koa from 'koa'
import type { Pool } from './db/handle.ts'
import { rehearsal } from './db/transaction.ts'
import type { Deps } from './deps.ts'
import { accessRequestRoutes } from './flows/access-requests/routes.ts'
import { accountRoutes } from './flows/account/routes.ts'
import { emailRoutes } from './flows/email/routes.ts'
import { introspectionRoutes } from './flows/introspection/routes.ts'
import { machineTokenRoutes } from './flows/machine-tokens/routes.ts'
import { mailLinkRoutes } from './flows/mail-links/routes.ts'
import { oauthRoutes } from './flows/oauth/routes.ts'
import { passwordRoutes } from './flows/password/routes.ts'
import { profileRoutes } from './flows/profile/routes.ts'
import { refreshRoutes } from './flows/refresh/routes.ts'
import { registrationRoutes } from './flows/registration/routes.ts'
import { findAppOfToken } from './flows/sign-in/magic-link.ts'
import { loginRoutes, mailLoginRoutes } from './flows/sign-in/routes.ts'
import { ownIdentityRoutes, ssoRoutes } from './flows/sso/routes.ts'
import { explainRoutes, offboardingRoutes, tokenTraceRoutes } from './flows/support/routes.ts'
import { twoFactorRoutes } from './flows/two-factor/routes.ts'
import { errorHandler, type ReplyObserver } from './http/answer.ts'
import { apiReferenceRoutes, showWelcome } from './http/api-reference.ts'
import { countReplies, requestLog } from './http/observe.ts'
import { buildOpenApi, openApiRoute } from './http/openapi.ts'
import type { Route } from './http/route.ts'
import { createRouting } from './http/router.ts'
import { appRoutes, logoRoutes } from './resources/apps/routes.ts'
import { auditRoutes } from './resources/audit/routes.ts'
import { authenticateClient } from './resources/client-secrets/client-secrets.ts'
import { clientSecretRoutes } from './resources/client-secrets/routes.ts'
import { authenticateConsumer } from './resources/consumers/consumers.ts'
import { consumerRoutes } from './resources/consumers/routes.ts'
import { grantRoutes } from './resources/grants/routes.ts'
import { idTokenKeyRoutes } from './resources/id-token-keys/routes.ts'
import { identityRoutes } from './resources/identities/routes.ts'
import { invitationRoutes } from './resources/invitations/routes.ts'
import { lockoutRoutes } from './resources/lockouts/routes.ts'
import { mailRoutes } from './resources/mail/routes.ts'
import { organizationRoutes } from './resources/organizations/routes.ts'
import { passkeyRoutes } from './resources/passkeys/routes.ts'
import { permissionRoutes } from './resources/permissions/routes.ts'
import { poolRoutes } from './resources/pools/routes.ts'
import { assertRoomForAddress, giveBackAttempts, takeByAddress } from './resources/rate-limits/rate-limits.ts'
import { revocationRoutes } from './resources/revocations/routes.ts'
import { roleRoutes } from './resources/roles/routes.ts'
import { secondFactorRoutes } from './resources/second-factors/routes.ts'
import { serviceAccountRoutes } from './resources/service-accounts/routes.ts'
import { authenticateCaller } from './resources/sessions/authenticate-caller.ts'
import { sessionRoutes } from './resources/sessions/routes.ts'
import { ssoProviderRoutes } from './resources/sso-providers/routes.ts'
import { statsRoutes } from './resources/stats/routes.ts'
import { metricsRoute, systemRoutes } from './resources/system/routes.ts'
import { trustedBrowserRoutes } from './resources/trusted-browsers/routes.ts'
import { userChangeRoutes } from './resources/user-changes/routes.ts'
import { userDeletionRoutes } from './resources/user-deletions/routes.ts'
import { userExportRoutes } from './resources/user-exports/routes.ts'
import { userImportRoutes } from './resources/user-imports/routes.ts'
import { assertMayHelp } from './resources/users/administration.ts'
import { userRoutes } from './resources/users/routes.ts'
import { webhookRoutes } from './resources/webhooks/routes.ts'

export const BASE_PATH = '/api/v1'

interface AppOptions {
  onReply?: ReplyObserver
}

/** Every route of the API. */
export function listRoutes(): Route[] {
  return [
    ...systemRoutes,
    ...registrationRoutes,
    ...loginRoutes,
    ...refreshRoutes,
    ...profileRoutes,
    ...passwordRoutes,
    ...mailRoutes,
    ...emailRoutes,
    ...mailLoginRoutes,
    ...ssoRoutes,
    ...twoFactorRoutes,
    ...sessionRoutes,
    ...identityRoutes,
    ...ownIdentityRoutes,
    ...appRoutes,
    ...clientSecretRoutes,
    ...idTokenKeyRoutes,
    ...accessRequestRoutes,
    ...grantRoutes,
    ...webhookRoutes,
    ...userRoutes,
    ...userImportRoutes,
    ...userDeletionRoutes,
    ...userExportRoutes,
    ...offboardingRoutes,
    ...lockoutRoutes,
    ...poolRoutes,
    ...secondFactorRoutes,
    ...passkeyRoutes,
    ...trustedBrowserRoutes,
    ...organizationRoutes,
    ...invitationRoutes,
    ...roleRoutes,
    ...permissionRoutes,
    ...serviceAccountRoutes,
    ...ssoProviderRoutes,
    ...auditRoutes,
    ...tokenTraceRoutes,
    ...revocationRoutes,
    ...introspectionRoutes,
    ...machineTokenRoutes,
    ...consumerRoutes,
    ...userChangeRoutes,
    ...explainRoutes,
    ...statsRoutes,
    openApiRoute(openApiDocument),
  ]
}

/** Routes at the root of the service, outside the API: pages, and what operators and developers read. */
export function listRootRoutes(): Route[] {
  return [metricsRoute, ...apiReferenceRoutes, ...logoRoutes, ...accountRoutes, ...mailLinkRoutes, ...oauthRoutes]
}

/** The OpenAPI document of the service. docs/reference/openapi.json is generated from it. */
export function openApiDocument() {
  return buildOpenApi([
    { prefix: BASE_PATH, routes: listRoutes() },
    { prefix: '', routes: [...logoRoutes, ...accountRoutes, ...oauthRoutes] },
  ])
}

/** The HTTP side of the service, from the outermost middleware to the routes. */
export function createHttpApp(deps: Deps<Pool>, options: AppOptions = {}): Koa {
  // In production, `/metrics` exists only if a token guards it: the figures show how busy the service is, and with what.
  const servesMetrics = !deps.config.production || deps.config.metricsToken !== undefined
  const mounts = [
    { prefix: BASE_PATH, routes: listRoutes() },
    { prefix: '', routes: listRootRoutes().filter((route) => route !== metricsRoute || servesMetrics) },
  ]
  const limits = { takeByAddress, assertRoomForAddress, giveBackAttempts, findAppOfToken }
  const callers = { authenticate: authenticateCaller, authenticateConsumer, authenticateClient }
  const app = new Koa()
  app.use(requestLog(deps))
  app.use(countReplies(deps))
  app.use(errorHandler(deps))
  app.use(showWelcome)
  app.use(createRouting(deps, mounts, { ...callers, ...limits, rehearse: rehearsal, assertMayHelp, onReply: options.onReply }))
  // These errors were thrown outside the error handler, for example by a broken socket. No client could read an answer.
  app.on('error', (error: unknown, ctx?: Koa.Context) =>
    deps.logger.warn({ ...ctx?.state.lineFields, err: error }, 'response failed'),
  )
  return app
}
