import { ok, route, section } from '../../http/route.ts'
import { getSigningKeys, presentSigningKeys, rotateBody, rotateSigningKeys, signingKeyList } from './signing-keys.ts'

export const signingKeyRoutes = section('OpenID Connect', [
  route({
    method: 'GET',
    path: '/admin/signing-keys',
    summary: 'List the keys of ID tokens',
    auth: 'admin_reader',
    responses: { 200: signingKeyList },
    errors: [],
    handle: async (deps) => ok(presentSigningKeys((await getSigningKeys(deps)).rows)),
  }),
  route({
    method: 'POST',
    path: '/admin/signing-keys/rotate',
    summary: 'Let the next key sign ID tokens, and make another next one',
    description:
      'No request fails: clients know the next key already, and accept tokens of the retired one. Wait five minutes between two ' +
      'rotations, since clients may keep the list of keys for so long.',
    auth: 'system_admin',
    body: rotateBody,
    responses: { 200: signingKeyList },
    errors: ['signing_step_impossible'],
    handle: async (deps, { body, ...actor }) => ok(presentSigningKeys(await rotateSigningKeys(deps, body, actor))),
  }),
])
