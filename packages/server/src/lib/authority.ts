// What a caller may do. It is worked out once, when the caller is looked up, and every route asks the result: no route reads a
// role, a scope or a list of apps itself.

/** The scopes of a service account that hold only for the apps of its `app_codes`. */
export const appScopes = [
  'users:register_or_return',
  'users:override',
  'tokens:introspect',
  'tokens:issue',
  'limits:exempt',
  'users:changes',
] as const
/** The scopes of a service account for administration. They hold for the whole service. */
export const adminScopes = ['admin:read', 'admin:configure'] as const
export const serviceScopes = ['permissions:register', ...appScopes, ...adminScopes] as const
export type ServiceScope = (typeof serviceScopes)[number]

/** The role whose holders administer this service. Code that asks about it uses this constant or a function of this file. */
export const SYSTEM_ADMIN = 'system_admin'

/** The global roles that let a user administer. */
export const adminRoles = [SYSTEM_ADMIN, 'auditor', 'help_desk'] as const
export type AdminRole = (typeof adminRoles)[number]

/**
 * The doors of the admin API. Each route under `/admin` is behind one of them, and a `system_admin` enters them all.
 * - `system_admin`: for nobody else.
 * - `admin_reader`: for reads. Also for an `auditor` and for `admin:read`.
 * - `help_desk_reader`: for the reads of the help desk. Also for those of `admin_reader` and for `help_desk`.
 * - `help_desk`: for what the help desk does to the account of a user. Also for `help_desk`, with a reason.
 * - `system_admin_reader`: for the reads that the contract keeps for them, which are those about pools.
 * - `configurer`: for what `authctl apply` writes. Also for `admin:configure`, within `lib/configurable.ts`.
 */
const readers = ['admin_reader', 'help_desk_reader'] as const
export const adminReaders = [...readers, 'system_admin_reader'] as const
export const adminWriters = [SYSTEM_ADMIN, 'help_desk', 'configurer'] as const
export type AdminDoor = (typeof adminReaders)[number] | (typeof adminWriters)[number]

const opens: Record<AdminRole | (typeof adminScopes)[number], readonly AdminDoor[]> = {
  [SYSTEM_ADMIN]: [...adminReaders, ...adminWriters],
  auditor: readers,
  help_desk: ['help_desk_reader', 'help_desk'],
  'admin:read': readers,
  'admin:configure': ['configurer'],
}

export function isAdminDoor(auth: string): auth is AdminDoor {
  return opens[SYSTEM_ADMIN].some((door) => door === auth)
}

/** Who governs an organization, and who gives and takes an org-scoped role in it. */
export type Giver = typeof SYSTEM_ADMIN | 'org_admin'

/** A system_admin enters the built-in app without a grant, unless the grant was revoked, and every other app as any user does. */
export function entersWithoutGrant(globalRoles: readonly string[], app: { built_in: boolean } | null): boolean {
  return app?.built_in === true && globalRoles.includes(SYSTEM_ADMIN)
}

/** Why a caller may not do something: the error code, and one sentence if the title of the code says too little. */
export interface Refusal {
  code:
    | 'fresh_login_required'
    | 'system_admin_required'
    | 'admin_app_not_allowed'
    | 'service_caller_required'
    | 'scope_required'
    | 'service_mismatch'
  detail?: string
}

/** The role that a login or registration is to give. */
interface GivenRole {
  code: string
  assignable_by: Giver
}

/** A `refuse…` member returns undefined if the caller may do it. */
interface Authority {
  /** Whether what the caller configures is bounded by `lib/configurable.ts`. */
  configuresWithinBounds: boolean
  /** For entering a door of the admin API. Without one: for all that a system_admin may do. */
  refuseAdministration(door?: AdminDoor): Refusal | undefined
  /** For registering users in the mode `register_or_return`. Undefined means no app, which the registration itself refuses. */
  refuseRegisterOrReturn(appCode: string | undefined): Refusal | undefined
  refusePermissionsOf(service: string): Refusal | undefined
  /** Whether a login or registration through the source app may link the target app although neither declares it. */
  mayOverride(sourceAppCode: string, targetAppCode: string): boolean
  /**
   * Whether a login or registration through the app may give an organization role that the app does not declare. `role` is
   * undefined if no role has the code.
   */
  mayGiveRole(appCode: string, role: GivenRole | undefined): boolean
}

/** Users may also be allowed to help other users, and to change how they themselves sign in, which other callers never are. */
export interface UserAuthority extends Authority {
  /** Whether whatever the caller does for a user needs a reason. */
  helpsWithReason: boolean
  /**
   * For doing something to the account of a user. `ofAdmin`: the user, or one with the same e-mail, holds a further global role.
   */
  refuseHelp(ofAdmin: boolean): Refusal | undefined
  /** For adding or removing a way to sign in at `now`. `factorSince` is when the second factor was activated, or null. */
  refuseCredentialChange(at: { now: number; factorSince: number | null }): Refusal | undefined
}

/** Service accounts may also be allowed four things that users never are. */
export interface ServiceAuthority extends Authority {
  /** For a route that needs the scope, whatever its body says. */
  refuseWithout(scope: ServiceScope): Refusal | undefined
  mayIntrospect(appCode: string | null): boolean
  /** For getting a machine token for the app. */
  refuseMachineToken(appCode: string): Refusal | undefined
  /** For reading the changes of the users of the app. */
  refuseUserChanges(appCode: string): Refusal | undefined
  /** Whether it holds the scope at all. `isExemptFromLimits` tells for which apps. */
  mayBeExemptFromLimits: boolean
  isExemptFromLimits(appCode: string | undefined): boolean
}

/** What the rights of a user's token depend on. Read with each call. */
interface UserSession {
  /** Those that the user holds now. */
  adminRoles: readonly AdminRole[]
  /** The app of the session; null for a login without one. */
  app: { code: string; isActive: boolean } | null
  /** When the user of the session last proved who they are, with the second factor where one was active. */
  provenAt: number | null
  /** When the second factor was activated that the proof included, if that is known. One that was activated later was not shown. */
  provenFactor?: number | null
}

/** How long a proof of identity counts. A session can last for months, and a thief must not lock the owner out with it. */
const proofLifeMs = 10 * 60_000

interface AdminSettings {
  adminAppCodes: readonly string[]
  allowBaseUserLogin: boolean
}

export function authorityOfUser(session: UserSession, settings: AdminSettings): UserAuthority {
  const refuse = (door: AdminDoor = SYSTEM_ADMIN) => refuseAdministration(session, settings, door)
  const refusal = refuse()
  const isAdmin = refusal === undefined
  const asService: Refusal | undefined = refusal?.code === 'system_admin_required' ? { code: 'service_caller_required' } : refusal
  return {
    configuresWithinBounds: !isAdmin,
    refuseAdministration: refuse,
    refuseRegisterOrReturn: () => asService,
    refusePermissionsOf: () => asService,
    helpsWithReason: !isAdmin,
    refuseHelp: (ofAdmin) =>
      isAdmin || !ofAdmin
        ? undefined
        : {
            code: 'system_admin_required',
            detail: 'The user, or another one with this e-mail, holds a global role besides base_user',
          },
    mayOverride: () => isAdmin,
    mayGiveRole: () => isAdmin,
    refuseCredentialChange: (at) => (isFresh(session, at) ? undefined : { code: 'fresh_login_required' }),
  }
}

function isFresh(
  { provenAt, provenFactor = null }: UserSession,
  { now, factorSince }: { now: number; factorSince: number | null },
): boolean {
  if (provenAt === null || provenAt <= now - proofLifeMs) return false
  return factorSince === null || factorSince === provenFactor || provenAt > factorSince
}

/**
 * Holders of these roles administer only with the token of an active app of AUTH_ADMIN_APP_CODES, so tokens that another app leaks
 * give no admin rights. A token without an app administers only if the setting has `*` and AUTH_ALLOW_BASE_USER_LOGIN is off.
 */
function refuseAdministration(
  { adminRoles: held, app }: UserSession,
  settings: AdminSettings,
  door: AdminDoor,
): Refusal | undefined {
  if (!held.some((role) => opens[role].includes(door))) return closedTo(held, door)
  const takesAll = settings.adminAppCodes.includes('*')
  const isAllowed = app
    ? app.isActive && (takesAll || settings.adminAppCodes.includes(app.code))
    : takesAll && !settings.allowBaseUserLogin
  return isAllowed ? undefined : { code: 'admin_app_not_allowed' }
}

/** Names what opens the door, to callers who hold something for other doors or who lack what is meant to be given widely. */
function closedTo(held: readonly (keyof typeof opens)[], door: AdminDoor): Refusal {
  const code = 'system_admin_required'
  const openers = Object.entries(opens).flatMap(([holder, doors]) => (doors.includes(door) ? [holder] : []))
  if (held.length === 0 && openers.length === 1) return { code }
  const lacking = held.length === 0 ? '' : `${held.join(' and ')} may not do this. `
  return { code, detail: `${lacking}Needed: ${openers.join(', or ')}` }
}

export function authorityOfServiceAccount(account: {
  service: string
  scopes: readonly ServiceScope[]
  appCodes: readonly string[]
}): ServiceAuthority {
  const refuseWithout = (scope: ServiceScope): Refusal | undefined =>
    account.scopes.includes(scope) ? undefined : { code: 'scope_required', detail: `The scope ${scope} is required` }
  const holds = (scope: (typeof appScopes)[number], appCode: string | null | undefined): boolean =>
    account.scopes.includes(scope) && appCode != null && account.appCodes.includes(appCode)
  return {
    refuseWithout,
    configuresWithinBounds: true,
    refuseAdministration(door = SYSTEM_ADMIN) {
      const held = adminScopes.filter((scope) => account.scopes.includes(scope))
      return held.some((scope) => opens[scope].includes(door)) ? undefined : closedTo(held, door)
    },
    refuseRegisterOrReturn(appCode) {
      const withoutScope = refuseWithout('users:register_or_return')
      if (withoutScope || appCode === undefined || holds('users:register_or_return', appCode)) return withoutScope
      return { code: 'scope_required', detail: 'This service account may not register users through this app' }
    },
    refusePermissionsOf(service) {
      if (service === account.service) return undefined
      return { code: 'service_mismatch', detail: `This service account may register only the permissions of ${account.service}` }
    },
    mayOverride: (source, target) => holds('users:override', source) && holds('users:override', target),
    // `users:override` does not cover `org_admin`, which an app must declare.
    mayGiveRole: (appCode, role) =>
      holds('users:override', appCode) && role?.assignable_by === 'org_admin' && role.code !== 'org_admin',
    mayIntrospect: (appCode) => holds('tokens:introspect', appCode),
    refuseMachineToken(appCode) {
      if (holds('tokens:issue', appCode)) return undefined
      return { code: 'scope_required', detail: 'This service account may not get tokens for this app' }
    },
    refuseUserChanges(appCode) {
      if (holds('users:changes', appCode)) return undefined
      return { code: 'scope_required', detail: 'This service account may not read changes of the users of this app' }
    },
    mayBeExemptFromLimits: account.scopes.includes('limits:exempt'),
    isExemptFromLimits: (appCode) => holds('limits:exempt', appCode),
  }
}
