import { ok, route, section } from '../../http/route.ts'
import { getIdTokenKeys, idTokenKeyList, presentIdTokenKeys, rotateBody, rotateIdTokenKeys } from './id-token-keys.ts'

export const idTokenKeyRoutes = section('OpenID Connect', [
  route({
    method: 'GET',
    path: '/admin/signing-keys',
    summary: 'List the keys of ID tokens',
    auth: 'admin_reader',
    responses: { 200: idTokenKeyList },
    handle: async (deps) => ok(presentIdTokenKeys((await getIdTokenKeys(deps)).rows)),
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
    responses: { 200: idTokenKeyList },
    errors: ['signing_step_impossible'],
    handle: async (deps, { body, ...actor }) => ok(presentIdTokenKeys(await rotateIdTokenKeys(deps, body, actor))),
  }),
])
