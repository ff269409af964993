import type { Deps } from '../../deps.ts'
import type { App } from '../../models/app.ts'

/** The service that holds the built-in permissions. */
export const CORE_SERVICE = 'core'

/**
 * The permissions of an access token (contract 2.8): the whole `core` slice; those of every service the app lists; those that the
 * roles grant. An app of scope `roles` takes of its services only what the roles grant. Sorted, without duplicates; pruned
 * permissions are in none.
 */
export async function listTokenPermissions(
  deps: Deps,
  app: Pick<App, 'service_codes' | 'permission_scope'> | null,
  roles: readonly string[],
): Promise<string[]> {
  const services = app?.service_codes ?? []
  const holdsAll = roles.includes('super_admin')
  const granted = deps
    .db('role_permissions')
    .whereIn('role_code', [...roles])
    .select('permission_id')
  const narrowed = app?.permission_scope === 'roles'
  const codes: string[] = await deps
    .db('permissions')
    .whereNull('pruned_at')
    .andWhere((any) => {
      any.where('service', CORE_SERVICE)
      if (narrowed) {
        any.orWhere((both) => {
          both.whereIn('service', services)
          if (!holdsAll) both.whereIn('id', granted)
        })
        return
      }
      if (holdsAll) any.orWhereRaw('1 = 1')
      else any.orWhereIn('service', services).orWhereIn('id', granted)
    })
    .distinct()
    .pluck('code')
  return codes.sort()
}
