import { ok, type Route, route } from '../../http/route.ts'
import { introspect, introspectBody, introspection } from './introspect.ts'

export const introspectionRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/auth/introspect',
    tag: 'Consumers',
    summary: 'Check whether an access token is active, and get its claims (RFC 7662)',
    description:
      'For consumers without the SDK. A consumer authenticates with its assertion, and can check tokens of its app. A service ' +
      'account with the scope `tokens:introspect` authenticates with its token (as bearer, as password of HTTP Basic, or as ' +
      '`client_secret` in the body), and can check tokens of its `app_codes`. The answer for any other token is ' +
      '`{"active": false}`.',
    speaks: 'oauth',
    auth: 'consumer_or_service_account',
    cors: true,
    scope: 'tokens:introspect',
    noStore: true,
    body: introspectBody,
    responses: { 200: introspection },
    errors: ['app_inactive'],
    handle: async (deps, { caller, body }) => ok(await introspect(deps, body.token, caller)),
  }),
]
