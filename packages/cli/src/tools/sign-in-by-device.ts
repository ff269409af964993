import { setTimeout as sleep } from 'node:timers/promises'
import type { components } from '@gatehouse/sdk/admin'
import { bodyOf } from '../api/api-client.ts'
import { ownAppCode } from '../api/session.ts'
import { Failure } from '../command-line/exit-codes.ts'
import type { Tools } from './create-tools.ts'

type Tokens = components['schemas']['Tokens']

const grantType = 'urn:ietf:params:oauth:grant-type:device_code'

/**
 * Signs a person in who allows it in a browser elsewhere (RFC 8628). Throws `device_grant_denied`, `device_code_expired`, and what the
 * service refuses.
 */
export async function signInByDevice({ io, anonymousApi }: Pick<Tools, 'io' | 'anonymousApi'>, baseUrl: string): Promise<Tokens> {
  const api = anonymousApi(baseUrl)
  const begun = await bodyOf(api.POST('/oauth/device_authorization', { body: { client_id: ownAppCode } }))
  io.complain(`open this page in a browser: ${begun.verification_uri}`)
  io.complain(`and type this code there: ${begun.user_code}`)
  io.note('waiting for you there; Ctrl-C ends it')
  const body = { grant_type: grantType, client_id: ownAppCode, device_code: begun.device_code }
  for (let seconds = begun.interval; ; ) {
    await sleep(seconds * 1_000)
    try {
      return (await bodyOf(api.POST('/oauth/token', { body }))) as Tokens
    } catch (error) {
      const code = error instanceof Failure ? error.code : ''
      if (code === 'slow_down') seconds += 5
      else if (code !== 'authorization_pending') throw asNotSignedIn(error)
    }
  }
}

/** A refused code is no wrong input of the person. */
function asNotSignedIn(error: unknown): unknown {
  if (!(error instanceof Failure) || error.ending !== 'invalid') return error
  const { message, code, requestId } = error
  return new Failure('notSignedIn', message, { code, hint: 'authctl login --device', requestId })
}
