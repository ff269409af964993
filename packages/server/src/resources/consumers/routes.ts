import { ok, route, section } from '../../http/route.ts'
import { consumerRecord, describeConsumer, describeSecrets, secretsRecord } from './consumers.ts'

export const consumerRoutes = section('Consumers', [
  route({
    method: 'GET',
    path: '/consumer',
    summary: 'Show how this service identifies the caller',
    description:
      'Lets a backend check its settings. A signature with an unknown secret is `token_invalid`. An app code that no app has ' +
      'is `app_not_found`. `service_id` distinguishes this service from that of another environment.',
    auth: 'any_consumer',
    noStore: true,
    responses: { 200: consumerRecord },
    errors: ['consumer_app_not_found'],
    handle: async (deps, { caller }) => ok(await describeConsumer(deps, caller)),
  }),
  route({
    method: 'GET',
    path: '/admin/secrets',
    summary: 'List the signing secrets that this server and the consumers of each app accept',
    description:
      'Secrets are named by their key id. While you rotate the secret, the new one may sign as soon as every app has an entry ' +
      'with its key id and no consumer was recently seen without it (docs/operate/rotating-the-secret.md). This does not concern apps ' +
      'that sign with their own key.',
    auth: 'admin_reader',
    responses: { 200: secretsRecord },
    handle: async (deps) => ok(await describeSecrets(deps)),
  }),
])
