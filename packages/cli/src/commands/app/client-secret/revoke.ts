import { requiredText } from '../../../command-line/options.ts'
import { appSubject, parseAppRef } from '../../../nouns/app-ref.ts'
import { isAbsent } from '../../../nouns/user-records.ts'
import { record } from '../../../output/output.ts'
import { confirmYes } from '../../../terminal/prompt.ts'
import { command } from '../../../tools/command.ts'

export const revokeClientSecret = command({
  path: 'app client-secret revoke',
  options: { code: appSubject, secret: requiredText('ID', 'Id of the secret, from app client-secret list') },
  summary: 'Revoke a client secret of an app',
  description: 'It stops working at once. Sessions continue with another secret of the app. Repeating it changes nothing.',
  examples: [
    'app client-secret revoke grafana --secret 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f --yes',
    'app client-secret revoke grafana --secret 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f --yes --reason "left in a log"',
    'app client-secret revoke grafana --secret 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f --dry-run',
  ],
  confirms: 'yes',
  async run(tools, { code, secret }) {
    await confirmYes(tools, `revoke the client secret ${secret} of ${code}`)
    const answer = { app: code, id: secret }
    try {
      const path = { appId: parseAppRef(code), secretId: secret }
      await tools.api.DELETE('/api/v1/admin/apps/{appId}/client-secrets/{secretId}', { params: { path } })
    } catch (error) {
      if (!isAbsent(error)) throw error
      // Of an unknown app, this says so.
      await tools.api.GET('/api/v1/admin/apps/{appId}', { params: { path: { appId: parseAppRef(code) } } })
      return record(answer, 'unchanged')
    }
    return record(answer, 'revoked')
  },
})
