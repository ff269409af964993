import { ok, type Route, route } from '../../http/route.ts'
import { describeConsumer } from './describe-consumer.ts'
import { listConsumerSecrets } from './list-consumer-secrets.ts'
import { presentSecrets } from './present.ts'
import { consumerRecord, secretsRecord } from './schema.ts'

export const consumerRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/consumer',
    tag: 'Consumers',
    summary: 'What this service takes the caller for',
    description:
      'For a backend that checks its settings: a signature that is not ours is `token_invalid`, a code that no app has `app_not_found`. ' +
      '`service_id` tells this service from that of another environment.',
    auth: 'any_consumer',
    noStore: true,
    responses: { 200: consumerRecord },
    errors: ['consumer_app_not_found'],
    handle: async (deps, { caller }) => ok(await describeConsumer(deps, caller)),
  }),
  route({
    method: 'GET',
    path: '/admin/secrets',
    tag: 'Consumers',
    summary: 'Which signing secrets this server and the consumers of each app accept',
    description:
      'Secrets are named by their key id. While the secret is being rotated, the new one may sign as soon as every app has a line ' +
      'with its key id and no consumer was lately seen without it (docs/rotating-the-secret.md). Apps that sign with a key of their own ' +
      'have no part in that.',
    auth: 'system_admin',
    responses: { 200: secretsRecord },
    errors: [],
    handle: async (deps) => {
      const { config, lifecycle, sharedKeys } = deps
      const [current, previous] = sharedKeys
      const own = {
        current: current.id,
        previous: previous?.id,
        signingSince: lifecycle.startedAt,
        accessTokenSeconds: config.accessTtlSeconds,
      }
      return ok(presentSecrets({ ...own, ...(await listConsumerSecrets(deps)) }))
    },
  }),
]
