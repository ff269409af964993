// What the scope `admin:configure` covers, beside `lib/authority.ts`, which says where it opens a door. Everything else is refused:
// a setting that is new tomorrow, and every setting that lets somebody in, sends something elsewhere, or gives a right.

/** Settings of an app that may take any value. They only change what people see. */
const free: ReadonlySet<string> = new Set([
  'name',
  'description',
  'brand.accent_color',
  'brand.from_name',
  'brand.default_language',
])

/** Settings of an app that may only become stricter. The strictest value is the last one. */
const stricter: Readonly<Record<string, readonly unknown[]>> = {
  sign_up: ['open', 'invitation', 'closed'],
  organization_sign_up: [true, false],
  require_verified_email: [false, true],
  permission_scope: ['services', 'roles'],
}

/** The settings of an app that `admin:configure` may not change in this way. */
export function beyondApp(before: object, after: object): string[] {
  const [from, to] = [settingsOf(before), settingsOf(after)]
  const changed = [...new Set([...from.keys(), ...to.keys()])].filter((name) => from.get(name) !== to.get(name))
  return changed.filter((name) => !free.has(name) && !isStricter(name, from.get(name), to.get(name)))
}

/** The settings by name, each as text, and the members of `brand` by themselves. */
function settingsOf(app: object): Map<string, string | undefined> {
  const { brand, ...settings }: { brand?: unknown } = app
  const members = Object.entries(Object(brand)).map(([name, value]) => [`brand.${name}`, value] as const)
  const given = [...Object.entries(settings), ...members].filter(([, value]) => value !== null && value !== undefined)
  return new Map(given.map(([name, value]) => [name, JSON.stringify(value)]))
}

function isStricter(name: string, before: string | undefined, after: string | undefined): boolean {
  const values = stricter[name]?.map((value) => JSON.stringify(value)) ?? []
  return values.includes(String(before)) && values.indexOf(String(after)) > values.indexOf(String(before))
}

interface ConfiguredRole {
  scope: string
  built_in: boolean
  assignable_by: string
}

/**
 * Why `admin:configure` may not create or change a role, or undefined. Anybody can come to hold a role that is global, built in,
 * given by an `org_admin` or named by an app: by registering, by founding an organization or by what a client asks for.
 */
export function beyondRole(role: ConfiguredRole, { isNamedByApp }: { isNamedByApp: boolean }): string | undefined {
  if (role.scope !== 'org') return 'global roles'
  if (role.built_in) return 'built-in roles'
  if (role.assignable_by === 'org_admin') return 'roles that an org_admin gives (assignable_by)'
  return isNamedByApp ? 'roles that an app names (default_role_code, override_role_codes)' : undefined
}
