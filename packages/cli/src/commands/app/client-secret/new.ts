import { bodyOf } from '../../../api/api-client.ts'
import { appSubject, parseAppRef } from '../../../nouns/app-ref.ts'
import { record } from '../../../output/output.ts'
import { command } from '../../../tools/command.ts'

export const newClientSecret = command({
  path: 'app client-secret new',
  options: { code: appSubject },
  summary: 'Give an app a client secret and print it',
  description:
    'The secret is shown only once. An app has at most two, so that you can set the new one before you revoke the old one. It is asked ' +
    'for once the app is confidential: app update CODE --client confidential.',
  examples: ['app client-secret new grafana', 'app client-secret new grafana --json', 'app client-secret new grafana --dry-run'],
  async run({ api, io }, { code }) {
    const path = { appId: parseAppRef(code) }
    const made = await bodyOf(api.POST('/api/v1/admin/apps/{appId}/client-secrets', { params: { path } }))
    io.note('the secret is not shown again')
    return record({ app: code, ...made }, 'created')
  },
})
