import { configInvalid } from './errors.ts'

/** The permissions that one service declares. Its type carries their names, so a misspelt name does not compile. */
export interface PermissionManifest<Name extends string = string> {
  readonly service: string
  /** What each permission allows, keyed by its code `resource:action`. */
  readonly permissions: Readonly<Record<Name, string>>
}

/** The names in a manifest: `type BillingPermission = PermissionName<typeof permissions>`. */
export type PermissionName<Manifest extends PermissionManifest> = keyof Manifest['permissions'] & string

const permissionCode = /^[A-Za-z0-9._*/-]+:[A-Za-z0-9._*/:-]+$/

/**
 * Declares the permissions of `service` and returns the manifest, frozen. Each code, `resource:action`, comes with a line that
 * says what it allows. Throws `CONFIG_INVALID` for a code of another shape or an empty `service`.
 *
 * @example
 * ```ts
 * import { definePermissions } from '@gatehouse/sdk'
 *
 * export const permissions = definePermissions('billing', {
 *   'invoices:read': 'See invoices',
 *   'invoices:void': 'Cancel an invoice',
 * })
 * ```
 */
export function definePermissions<Name extends `${string}:${string}`>(
  service: string,
  permissions: Readonly<Record<Name, string>>,
): PermissionManifest<Name> {
  const faults = Object.keys(permissions).filter((code) => !permissionCode.test(code))
  if (!service || faults.length > 0)
    throw configInvalid(`definePermissions: missing or invalid: ${[service || 'service', ...faults].join(', ')}`)
  return Object.freeze({ service, permissions: Object.freeze({ ...permissions }) })
}
