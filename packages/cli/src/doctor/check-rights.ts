import type { components } from '@gatehouse/sdk/admin'
import { bodyOf } from '../api/api-client.ts'
import { userRefOf } from '../nouns/user-ref.ts'
import type { Tools } from '../tools/create-tools.ts'
import { type Finding, fault, faultOf, fine } from './finding.ts'

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
