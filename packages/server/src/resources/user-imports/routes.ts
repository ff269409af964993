import { ok, type Route, route } from '../../http/route.ts'
import { importUsers } from './import-users.ts'
import { importAnswer, importLine, importUsersQuery } from './schema.ts'

export const userImportRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/admin/users/import',
    tag: 'Users',
    summary: 'Import users with their password hashes',
    description:
      'Newline-delimited JSON, one user a line, committed per 500 lines; a bad line stops no other. Users are told by (namespace, ' +
      'e-mail): to one who exists, tags, apps and roles are added, and nothing else is changed. A line for an unproven account, which ' +
      'somebody else may have registered, fails with `account_unverified` unless `claim_unverified=true`. Sends no mail and no webhook.',
    auth: 'system_admin',
    query: importUsersQuery,
    lines: importLine,
    bodyLimitBytes: 10 * 1024 * 1024,
    responses: { 200: importAnswer },
    errors: ['payload_too_large', 'unsupported_media_type'],
    handle: async (deps, { query, lines, ...actor }) =>
      ok(
        await importUsers(
          deps,
          lines,
          { dryRun: query.dry_run === 'true', claimsUnproven: query.claim_unverified === 'true' },
          actor,
        ),
      ),
  }),
]
