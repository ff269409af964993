import { ok, type Route, route } from '../../http/route.ts'
import { exportSelf, exportUser, userExport } from './user-exports.ts'

export const userExportRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/auth/me/export',
    tag: 'Account',
    summary: 'Download everything that the service keeps about you',
    description: 'Without secrets, and without what is about others. Audited.',
    auth: 'user',
    noStore: true,
    responses: { 200: userExport },
    errors: ['rate_limited'],
    handle: async (deps, { caller, origin }) => ok(await exportSelf(deps, { caller, origin })),
  }),
  route({
    method: 'GET',
    path: '/admin/users/{userId}/export',
    tag: 'Users',
    summary: 'Show everything that the service keeps about a user',
    description: 'The same document as the user gets. Audited.',
    auth: 'admin_reader',
    noStore: true,
    responses: { 200: userExport },
    handle: async (deps, { params, caller, origin }) => ok(await exportUser(deps, params.userId, { caller, origin })),
  }),
]
