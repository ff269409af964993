import { ok, type Route, route } from '../../http/route.ts'
import { issueMachineToken, machineToken, machineTokenBody } from './issue-machine-token.ts'

export const machineTokenRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/auth/token',
    tag: 'Service accounts',
    summary: 'Get a machine token: an access token of a service account for one app',
    description:
      'For a backend that calls another one. The caller is a service account with the scope `tokens:issue` for the app. It ' +
      'authenticates with its token: as bearer, as password of HTTP Basic, or as `client_secret` in the body. The app must ' +
      'have enabled `machine_tokens`. The machine token lives as long as an access token of a user. It has `kind: "service"` ' +
      'and no session, and gives no access to this service. There is no refresh token: request another token before it expires.',
    speaks: 'oauth',
    oauthErrors: 'added',
    auth: 'service_account',
    cors: true,
    scope: 'tokens:issue',
    noStore: true,
    body: machineTokenBody,
    responses: { 200: machineToken },
    errors: ['machine_tokens_disabled', 'app_inactive'],
    handle: async (deps, { caller, bearer, body, origin }) =>
      ok(await issueMachineToken(deps, { bearer, appCode: body.app_code }, { caller, origin })),
  }),
]
