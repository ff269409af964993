import { choice, text } from '../../../command-line/options.ts'
import { parseAppRef } from '../../../nouns/app-ref.ts'
import { shownUser, userRefOf } from '../../../nouns/user-ref.ts'
import { listCommand } from '../../../tools/list-command.ts'

export const listRequests = listCommand({
  path: 'grant request list',
  summary: 'List requests for access to apps, newest first',
  examples: ['grant request list', 'grant request list --app shop --status denied', 'grant request list -o ndjson'],
  filters: {
    app: text('CODE', 'Only requests for this app', { completes: 'apps' }),
    status: choice(['open', 'approved', 'denied'], 'Only requests with this status. Default: open'),
  },
  read: (api, { app, status = 'open' }, page) => {
    const query = { status, ...(app === undefined ? {} : { app: parseAppRef(app) }), ...page }
    return api.GET('/api/v1/admin/access-requests', { params: { query } })
  },
  columns: [
    // Needed to approve a request. A narrow terminal drops the first column last.
    ['id', ({ id }) => id, 'needed'],
    ['app', ({ app }) => app.code],
    ['user', ({ user }) => shownUser(userRefOf(user))],
    'created_at',
    'status',
    'message',
    'reason',
  ],
  none: 'no requests',
})
