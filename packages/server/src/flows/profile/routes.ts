import { accepted, noContent, ok, type Route, route } from '../../http/route.ts'
import { passwordNote, proofErrors } from '../sign-in/prove-again.ts'
import {
  authenticateSelf,
  confirmDeletion,
  confirmDeletionBody,
  deleteSelf,
  deleteSelfBody,
  deletionMailed,
  describeSelf,
  profile,
  type SelfCaller,
  updateSelf,
  updateSelfBody,
} from './profile.ts'

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
    description: 'At most 60 times a minute.',
    auth: 'user',
    noStore: true,
    body: updateSelfBody,
    record: profile.extend(profile.shape.user.shape),
    responses: { 200: profile },
    errors: ['rate_limited'],
    handle: async (deps, { body, sentBack, ...actor }) => ok(await updateSelf(deps, body, sentBack, actor)),
  }),
  route({
    method: 'DELETE',
    path: '/auth/me',
    tag: 'Account',
    summary: 'Delete your account',
    description: `Works like a deletion by an admin: frees the e-mail and invalidates every token, in every app. The user is notified by mail. For an account without a password, which needs a login in the last 10 minutes, 202: a link that deletes it is mailed to its address. ${passwordNote}`,
    auth: 'user',
    body: deleteSelfBody,
    responses: { 202: deletionMailed, 204: null },
    errors: [...proofErrors, 'app_code_required', 'invalid_two_factor_code', 'last_system_admin'],
    handle: async (deps, { body, caller, origin }) =>
      (await deleteSelf(deps, body, caller, { caller, origin })) === 'mailed' ? accepted() : noContent(),
  }),
  route({
    method: 'POST',
    path: '/auth/me/delete/confirm',
    tag: 'Account mail',
    summary: 'Delete an account without a password, with the token from the mail',
    description: 'The mail is sent by `DELETE /auth/me`.',
    auth: 'public',
    body: confirmDeletionBody,
    responses: { 204: null },
    errors: ['invalid_token', 'last_system_admin'],
    handle: async (deps, { body, origin }) => {
      await confirmDeletion(deps, body.token, { caller: undefined, origin })
      return noContent()
    },
  }),
]
