import { bodyOf } from '../../../api/api-client.ts'
import { positional } from '../../../command-line/options.ts'
import { record } from '../../../output/output.ts'
import { command } from '../../../tools/command.ts'

export const denyRequest = command({
  path: 'grant request deny',
  options: { request: positional('REQUEST', 'Id of the request, as grant request list shows it') },
  summary: 'Deny a request for access to an app',
  description: 'The user is notified by mail, which includes the --reason, and may ask again.',
  examples: [
    'grant request deny 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f',
    'grant request deny 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f --reason "Ask your manager first"',
    'grant request deny 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f --dry-run',
  ],
  async run({ api, settings }, { request }) {
    const params = { path: { requestId: request } }
    const body = settings.reason === undefined ? {} : { reason: settings.reason }
    return record(await bodyOf(api.POST('/api/v1/admin/access-requests/{requestId}/deny', { params, body })), 'denied')
  },
})
