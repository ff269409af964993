import { ok, type Route, route } from '../../http/route.ts'
import { introspect } from './introspect.ts'
import { introspectBody, introspection } from './schema.ts'

export const introspectionRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/auth/introspect',
    tag: 'Consumers',
    summary: 'Whether an access token is alive, and its claims (RFC 7662)',
    description:
      'For consumers without the SDK. The caller is the consumer of an app, by its assertion, and is told about tokens of that app; or ' +
      'a service account with the scope `tokens:introspect`, by its token as bearer, as password of HTTP Basic or as ' +
      '`client_secret` in the body, and is told about tokens of its `app_codes`. Anything else is `{"active": false}`.',
    auth: 'consumer_or_service_account',
    noStore: true,
    body: introspectBody,
    formBody: true,
    responses: { 200: introspection },
    errors: ['scope_required', 'app_inactive'],
    handle: async (deps, { caller, body }) => ok(await introspect(deps, body.token, caller)),
  }),
]
