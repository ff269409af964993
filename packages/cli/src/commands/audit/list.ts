import { bodyOf, pages } from '../../api/api-client.ts'
import { count } from '../../command-line/options.ts'
import { auditColumns, auditFilters, auditQuery, untilOption } from '../../nouns/audit-events.ts'
import { list } from '../../output/output.ts'
import { command } from '../../tools/command.ts'

export const listAudit = command({
  path: 'audit list',
  options: { ...auditFilters, until: untilOption, limit: count('N', 'Maximum number of events. Default: all') },
  summary: 'List what happened, newest first',
  description:
    'JSON has more than the table: the request, the user agent, and what was changed, before and after. ' +
    '--ip, --app and --event alone look through the whole audit, 10,000 events a request: add --since, --user or --actor.',
  examples: [
    'audit list --since 1h',
    'audit list --event login.failed --user bob@example.com --limit 20',
    'audit list --actor ada@example.com --since 7d --until 1d -o ndjson',
  ],
  lists: 'long',
  async run({ api, now }, { limit, ...filters }) {
    const query = await auditQuery(api, filters, now())
    const all = pages((page) => bodyOf(api.GET('/api/v1/admin/audit', { params: { query: { ...query, ...page } } })), limit)
    return list(all, auditColumns, 'no events')
  },
})
