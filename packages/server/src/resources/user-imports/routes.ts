import { ok, type Route, route } from '../../http/route.ts'
import { importAnswer, importLine, importUsers, importUsersQuery } from './user-imports.ts'

export const userImportRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/admin/users/import',
    tag: 'Users',
    summary: 'Import users with their password hashes',
    description:
      'Newline-delimited JSON, one user per line, committed every 500 lines. A bad line does not stop the others. Users are ' +
      'identified by (namespace, e-mail). An existing user gains tags, apps and roles, and nothing else changes. A line for an ' +
      'unproven account, which someone else may have registered, fails with `account_unverified` unless ' +
      '`claim_unverified=true`. Sends no mail and no webhook.',
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
