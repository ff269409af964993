import { bodyOf } from '../../../api/api-client.ts'
import { parseExpiry } from '../../../command-line/duration.ts'
import { positional, text } from '../../../command-line/options.ts'
import { record } from '../../../output/output.ts'
import { command } from '../../../tools/command.ts'

export const approveRequest = command({
  path: 'grant request approve',
  options: {
    request: positional('REQUEST', 'Id of the request, as grant request list shows it'),
    expires: text('TIME', 'When the access ends: 2027-01-31, 2027-01-31T18:00:00Z, or 30d from now'),
  },
  summary: 'Approve a request for access to an app',
  description: 'Grants access as grant add does. The user is notified by mail; --reason is for other admins.',
  examples: [
    'grant request approve 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f',
    'grant request approve 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f --expires 30d --reason "audit in March"',
    'grant request approve 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f --dry-run',
  ],
  async run({ api, settings, now }, { request, expires }) {
    const body = {
      ...(expires === undefined ? {} : { expires_at: parseExpiry(expires, now()) }),
      ...(settings.reason === undefined ? {} : { reason: settings.reason }),
    }
    const params = { path: { requestId: request } }
    return record(await bodyOf(api.POST('/api/v1/admin/access-requests/{requestId}/approve', { params, body })), 'granted')
  },
})
