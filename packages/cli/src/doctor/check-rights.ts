import type { components } from '@gatehouse/sdk/admin'
import { bodyOf } from '../api/api-client.ts'
import { userRefOf } from '../nouns/user-ref.ts'
import { counted } from '../text/counted.ts'
import type { Tools } from '../tools/create-tools.ts'
import { type Finding, fault, faultOf, fine, warning } from './finding.ts'

export type ServiceSettings = components['schemas']['Settings']

/** Checks that the signed-in user may use the admin API. If so, also returns the settings of the service. */
export async function checkRights({ api }: Tools): Promise<{ findings: Finding[]; settings?: ServiceSettings }> {
  try {
    const { user, roles } = await bodyOf(api.GET('/api/v1/auth/me'))
    const who = userRefOf(user)
    if (!roles.includes('system_admin')) {
      const remedy = `a system_admin runs: authctl user role ${who} --role system_admin`
      return { findings: [fault({ check: 'rights' }, `${who} does not hold the role system_admin`, remedy)] }
    }
    const settings = await bodyOf(api.GET('/api/v1/admin/settings'))
    return { findings: [fine({ check: 'rights' }, `${who} may administer`)], settings }
  } catch (thrown) {
    return { findings: [faultOf('rights', thrown)] }
  }
}

/** Postgres finds a text inside a name by an extension, which the first start tries to load. */
export function checkSearch({ finds_inside: isWhole = true }: ServiceSettings): Finding[] {
  const check = 'search'
  if (isWhole) return [fine({ check }, 'searches find a text inside a name')]
  const message = 'searches find only the beginning of a name or an address: Postgres has no extension pg_trgm'
  return [warning({ check }, message, 'docs/why/data-model.md#search says how to add it')]
}

/** A browser offers a passkey only at the host that it was made for. */
export function checkPasskeys({ public_url: url, passkeys_elsewhere: lost = 0 }: ServiceSettings): Finding[] {
  const check = 'passkeys'
  if (lost === 0) return [fine({ check }, 'all passkeys belong to the host of the service')]
  const message = `${counted(lost, 'passkey')} belong to another host than that of ${url}, and do not work`
  return [warning({ check }, message, 'set PUBLIC_URL back to the earlier host, or ask these people to add another passkey')]
}
