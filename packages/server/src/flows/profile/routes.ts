import { ok, type Route, route } from '../../http/route.ts'
import { authenticateSelf, describeSelf, type SelfCaller } from './describe-self.ts'
import { profile } from './schema.ts'

export const profileRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/auth/me',
    tag: 'Account',
    summary: 'Show the own account',
    auth: 'user',
    noStore: true,
    responses: { 200: profile },
    errors: [],
    authenticate: authenticateSelf,
    handle: async (deps, { caller }) => ok(await describeSelf(deps, caller as SelfCaller)),
  }),
]
