import { ok, type Route, route } from '../../http/route.ts'
import { readUserChanges, userChangePage, userChangesQuery } from './user-changes.ts'

export const userChangeRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/consumer/changes',
    tag: 'Consumers',
    summary: 'List changes of the users of an app since a cursor, for apps that keep a table of users',
    description:
      'Changed e-mails and names, deleted users and ended grants of the users who have a grant for the app, each at least once. ' +
      'They are kept for 30 days. A grant that expires is listed within about ten minutes. Needs an assertion that is signed ' +
      "with the app's own key, because every backend that holds the shared secret can sign for any app; or a service account " +
      'with the scope `users:changes` for the app.',
    auth: 'consumer_or_service_account',
    scope: 'users:changes',
    noStore: true,
    query: userChangesQuery,
    responses: { 200: userChangePage },
    errors: ['own_key_required'],
    handle: async (deps, { caller, query }) => ok(await readUserChanges(deps, query, caller)),
  }),
]
