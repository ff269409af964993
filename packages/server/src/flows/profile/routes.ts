import { noContent, ok, type Route, route } from '../../http/route.ts'
import { proofErrors, proofNote } from '../entry/require-fresh-proof.ts'
import { deleteSelf } from './delete-self.ts'
import { authenticateSelf, describeSelf, type SelfCaller } from './describe-self.ts'
import { deleteSelfBody, profile, updateSelfBody } from './schema.ts'
import { updateSelf } from './update-self.ts'

export const profileRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/auth/me',
    tag: 'Account',
    summary: 'Show your account',
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
    summary: 'Change the names of your account',
    auth: 'user',
    noStore: true,
    body: updateSelfBody,
    record: profile.extend(profile.shape.user.shape),
    responses: { 200: profile },
    errors: [],
    handle: async (deps, { body, sentBack, ...actor }) => ok(await updateSelf(deps, body, sentBack, actor)),
  }),
  route({
    method: 'DELETE',
    path: '/auth/me',
    tag: 'Account',
    summary: 'Delete your account',
    description: `Works like a deletion by an admin: frees the e-mail and invalidates every token, in every app. The user is notified by mail. ${proofNote}`,
    auth: 'user',
    body: deleteSelfBody,
    responses: { 204: null },
    errors: [...proofErrors, 'invalid_two_factor_code', 'last_system_admin'],
    handle: async (deps, { body, caller, origin }) => {
      await deleteSelf(deps, body, caller, { caller, origin })
      return noContent()
    },
  }),
]
