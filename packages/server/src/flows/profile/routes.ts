import { ok, type Route, route } from '../../http/route.ts'
import { authenticateSelf, describeSelf, type SelfCaller } from './describe-self.ts'
import { profile, updateSelfBody } from './schema.ts'
import { updateSelf } from './update-self.ts'

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
  route({
    method: 'PATCH',
    path: '/auth/me',
    tag: 'Account',
    summary: 'Change the names of the own account',
    auth: 'user',
    noStore: true,
    body: updateSelfBody,
    record: profile.extend(profile.shape.user.shape),
    responses: { 200: profile },
    errors: [],
    handle: async (deps, { body, sentBack, ...actor }) => ok(await updateSelf(deps, body, sentBack, actor)),
  }),
]
