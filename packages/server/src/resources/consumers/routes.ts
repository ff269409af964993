import { ok, type Route, route } from '../../http/route.ts'
import { listConsumerSecrets } from './list-consumer-secrets.ts'
import { presentSecrets } from './present.ts'
import { secretsRecord } from './schema.ts'

export const consumerRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/admin/secrets',
    tag: 'Consumers',
    summary: 'Which signing secrets this server and the consumers of each app accept',
    description:
      'Secrets are named by their key id. While the secret is being rotated, the new one may sign as soon as every app has a line ' +
      'with its key id and no consumer was lately seen without it (docs/rotating-the-secret.md).',
    auth: 'system_admin',
    responses: { 200: secretsRecord },
    errors: [],
    handle: async (deps) => {
      const [current, previous] = deps.accessTokens.keyIds
      return ok(presentSecrets({ current, previous, seen: await listConsumerSecrets(deps) }))
    },
  }),
]
