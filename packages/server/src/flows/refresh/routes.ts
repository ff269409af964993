import { ok, route, section } from '../../http/route.ts'
import { tokenAnswer } from '../../lib/records.ts'
import { logout, logoutBody, refresh, refreshBody } from './refresh.ts'

export const refreshRoutes = section('Authentication', [
  route({
    method: 'POST',
    path: '/auth/refresh',
    summary: 'Exchange a refresh token for new tokens',
    auth: 'public',
    limit: 'failures',
    noStore: true,
    body: refreshBody,
    responses: { 200: tokenAnswer },
    errors: [
      'account_suspended',
      'app_access_denied',
      'app_inactive',
      'email_unverified',
      'invalid_refresh_token',
      'organization_membership_required',
      'second_factor_not_shown',
      'refresh_token_reused',
      'two_factor_enrollment_required',
    ],
    handle: async (deps, { body, origin }) => ok(await refresh(deps, body, { caller: undefined, origin })),
  }),
  route({
    method: 'POST',
    path: '/auth/logout',
    summary: 'End the session of a refresh token',
    auth: 'public',
    body: logoutBody,
    responses: { 204: null },
    handle: async (deps, { body, origin }) => logout(deps, body.refresh_token, { caller: undefined, origin }),
  }),
])
