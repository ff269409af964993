import { type Route, route } from '../../http/route.ts'
import { ownAccessRequest } from '../../lib/records.ts'
import { askForAccess, askForAccessBody } from './ask-for-access.ts'

export const accessRequestRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/auth/access-requests',
    tag: 'App access',
    summary: 'Ask for access to an app',
    description:
      'For a user whose `access` is `pending`. Takes the credentials of a login. Admins are notified by mail, and the user ' +
      'gets their decision by mail. 201 for a new request, 200 if one is already open. At most five new requests a day. The ' +
      'address must be verified.',
    auth: 'public',
    noStore: true,
    body: askForAccessBody,
    responses: { 200: ownAccessRequest, 201: ownAccessRequest },
    errors: [
      'access_granted',
      'account_locked',
      'account_suspended',
      'app_inactive',
      'app_not_found',
      'email_unverified',
      'invalid_credentials',
      'invalid_two_factor_code',
      'two_factor_required',
    ],
    handle: async (deps, { body, origin }) => {
      const { request, isNew } = await askForAccess(deps, body, { caller: undefined, origin })
      return { status: isNew ? 201 : 200, body: request }
    },
  }),
]
