import type { KeyObject } from 'node:crypto'
import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { projectTokenBytes } from '../../lib/access-token.ts'
import { deepFreeze, only } from '../../lib/collections.ts'
import { type Keyring, Keyrings, keyOfSecret } from '../../lib/keyrings.ts'
import { privateKeyOf, publicKeyOf } from '../../lib/rs256.ts'
import { newId } from '../../lib/uuid.ts'
import { App } from '../../models/app.ts'
import { AppKey, type AppKeysOfApp } from '../../models/app-key.ts'
import { Generation } from '../../models/generation.ts'
import { type MeasuredCodes, Permission } from '../../models/permission.ts'
import { Service } from '../../models/service.ts'
import { SigningKey, type SigningKeyRow } from '../../models/signing-key.ts'
import { revocationKeepMs } from '../revocations/revocations.ts'

/** Settings of apps and permissions of roles, kept in memory once they are read. Its objects are frozen. */
export interface Catalog {
  findApp(by: { id: string } | { code: string }): Promise<App | undefined>
  /** Which keys sign for which app. */
  getKeyrings(): Promise<Keyrings>
  /** The keys of ID tokens. Empty until `getIdTokenKeys` makes the first ones. */
  getIdTokenKeys(): Promise<IdTokenKeys>
  /** The lowest `iat` that is accepted in any token, in seconds. */
  getMinIat(): Promise<number>
  /** The permissions of an access token with these roles, for an app or for none. */
  listTokenPermissions(appId: string | null, roles: readonly string[]): Promise<readonly string[]>
}

/**
 * Returns the current catalog. Every change renews its generation in the same transaction (`renewCatalog`), so what was read
 * under the current generation is as fresh as a query on every server. Servers need not notify each other.
 */
export async function readCatalog(deps: Deps, generation?: string): Promise<Catalog> {
  const kept = deps.catalogCache.at(generation ?? (await Generation.ofCatalog(deps.db)))
  const remember = async <T>(key: string, read: () => Promise<T>): Promise<T> => {
    if (kept.has(key)) return kept.get(key) as T
    const value = await read()
    if (value !== undefined) kept.set(key, value)
    return value
  }
  const findApp: Catalog['findApp'] = (by) =>
    remember('id' in by ? `app ${by.id}` : `app of code ${by.code}`, async () => deepFreeze(await App.find(deps.db, by)))
  return {
    findApp,
    getKeyrings: () => remember('keyrings', () => readKeyrings(deps)),
    getIdTokenKeys: () => remember('signing keys', () => readIdTokenKeys(deps)),
    getMinIat: () => remember('min_iat', async () => only(await Service.query(deps.db).select('min_iat')).min_iat),
    listTokenPermissions: (appId, roles) =>
      remember(`permissions ${JSON.stringify([appId, ...roles])}`, async () => {
        const app = appId === null ? null : ((await findApp({ id: appId })) ?? null)
        return Object.freeze(await listTokenPermissions(deps, app, roles))
      }),
  }
}

/** The context that binds a sealed secret of an app. */
export function appSecretContext(appId: string, version: number): string {
  return `app_keys ${appId} ${version}`
}

/** The keys of every app. Deleted apps keep theirs for a while, so that their consumers still learn that the tokens are dead. */
async function readKeyrings(deps: Deps): Promise<Keyrings> {
  const apps = await AppKey.listAll(deps.db, deps.clock() - revocationKeepMs)
  return new Keyrings(
    deps.sharedKeys,
    apps.map((app) => {
      let keyring: Keyring | undefined
      return { ...app, keyring: () => (keyring ??= keyringOf(deps, app)) }
    }),
  )
}

const order = { current: 0, next: 1, previous: 2 }

/** While an app has only a next key, the shared secret signs. */
function keyringOf(deps: Deps, { appId, keys }: Omit<AppKeysOfApp, 'code'>): Keyring {
  const staged = keys.toSorted((a, b) => order[a.stage] - order[b.stage])
  const [first, ...others] = staged.flatMap(({ version, secret_box }) =>
    secret_box === null ? deps.sharedKeys : [keyOfSecret(deps.secretBox.open(secret_box, appSecretContext(appId, version)))],
  )
  const isShared = !keys.some(({ stage }) => stage === 'current')
  if (isShared || !first) return [...deps.sharedKeys, ...(first ? [first] : []), ...others]
  return [first, ...others]
}

/** The keys of ID tokens, as they are kept in memory. */
export interface IdTokenKeys {
  rows: readonly SigningKeyRow[]
  /** The key that signs. Undefined until the first ones are made. Throws if it cannot be opened. */
  current(): { id: string; key: KeyObject } | undefined
  /** The public half of a key of any stage. */
  find(id: string): KeyObject | undefined
}

/** The context that binds the sealed half of a key. */
export function idTokenKeyContext(id: string): string {
  return `signing_keys ${id}`
}

async function readIdTokenKeys(deps: Deps): Promise<IdTokenKeys> {
  const rows = await SigningKey.listAll(deps.db)
  const signing = rows.find(({ stage }) => stage === 'current')
  const publicKeys = new Map<string, KeyObject>()
  let opened: { id: string; key: KeyObject } | undefined
  return {
    rows,
    current() {
      if (!opened && signing?.private_box)
        opened = { id: signing.id, key: privateKeyOf(deps.secretBox.open(signing.private_box, idTokenKeyContext(signing.id))) }
      return opened
    },
    find(id) {
      const known = publicKeys.get(id)
      const row = known ? undefined : rows.find((each) => each.id === id)
      if (!row) return known
      const key = publicKeyOf(JSON.parse(row.public_jwk))
      publicKeys.set(id, key)
      return key
    },
  }
}

/**
 * Ends the current generation of the catalog. Call it when you change apps, permissions or what roles hold. Call it before the
 * first such write, so that no server caches uncommitted data under a generation that others see, and after you have taken all
 * other locks.
 */
export async function renewCatalog(deps: Deps<Tx>): Promise<void> {
  await Generation.update(deps.db, { name: 'catalog' }, { generation: newId() })
}

/** The service that holds the built-in permissions. */
export const CORE_SERVICE = 'core'

/**
 * The permissions of an access token (docs/guard-a-backend/tokens.md#header-and-claims): all of `core`, those of every service that
 * the app lists, and those that the roles hold. An app of scope `roles` takes from its services only what the roles hold. Sorted,
 * unique, without pruned permissions.
 */
export async function listTokenPermissions(
  deps: Deps,
  app: Pick<App, 'service_codes' | 'permission_scope'> | null,
  roles: readonly string[],
): Promise<string[]> {
  const services = app?.service_codes ?? []
  const narrowed = app?.permission_scope === 'roles'
  const holdsAll = roles.includes('super_admin')
  const codes = await Permission.listCodes(deps.db, { core: CORE_SERVICE, services, roles, narrowed, holdsAll })
  return codes.sort()
}

/** An app whose tokens exceed AUTH_TOKEN_WARN_BYTES: proxies and consumers refuse a request whose headers are too long. */
export interface TokenSizeWarning {
  app: string
  projected_token_bytes: number
}

/** What decides which permissions the tokens of an app carry. */
type TokenSettings = Pick<App, 'id' | 'code' | 'service_codes' | 'permission_scope'>

/**
 * The touched apps whose tokens are too long, by code. For an app of scope `services`, every permission of its services counts;
 * for scope `roles`, those of its largest single role. `planned` replaces what its service has declared.
 */
export async function warnOfTokenSize(
  deps: Deps,
  isTouched: (app: TokenSettings) => boolean,
  planned?: MeasuredCodes,
): Promise<TokenSizeWarning[]> {
  const apps = (await App.query(deps.db).orderBy('code').select('id', 'code', 'service_codes', 'permission_scope')).filter(
    isTouched,
  )
  if (apps.length === 0) return []
  const services = [...new Set([CORE_SERVICE, ...apps.flatMap((app) => app.service_codes)])]
  const present = await Permission.measure(deps.db, services, 'services')
  const declared = planned ? [...present.filter(({ service }) => service !== planned.service), planned] : present
  const held = apps.some(isNarrowed) ? await Permission.measure(deps.db, services, 'roles') : []
  return apps.flatMap((app) => {
    const codes = isNarrowed(app) ? largestRole(app, declared, held) : totalOf(app, declared)
    const bytes = projectTokenBytes({ appCode: app.code, issuer: deps.config.issuer, codes })
    return bytes > deps.config.tokenWarnBytes ? [{ app: app.code, projected_token_bytes: bytes }] : []
  })
}

/** The `warnings` member of an answer, left out if there are none. */
export function tokenSizeMember(warnings: readonly TokenSizeWarning[]): { warnings?: TokenSizeWarning[] } {
  return warnings.length > 0 ? { warnings: [...warnings] } : {}
}

function isNarrowed({ permission_scope }: TokenSettings): boolean {
  return permission_scope === 'roles'
}

type Codes = Pick<MeasuredCodes, 'count' | 'characters'>

/** The sum over `core` and the services of the app. */
function totalOf({ service_codes }: TokenSettings, measured: readonly MeasuredCodes[]): Codes {
  return sum(measured.filter(({ service }) => service === CORE_SERVICE || service_codes.includes(service)))
}

function largestRole(app: TokenSettings, declared: readonly MeasuredCodes[], held: readonly MeasuredCodes[]): Codes {
  const core = sum(declared.filter(({ service }) => service === CORE_SERVICE))
  const ofServices = held.filter(({ service }) => service !== CORE_SERVICE)
  const codes = new Set(ofServices.map(({ role_code }) => role_code))
  const roles = [...codes].map((code) =>
    totalOf(
      app,
      ofServices.filter(({ role_code }) => role_code === code),
    ),
  )
  const largest = roles.reduce((most, role) => (role.characters > most.characters ? role : most), { count: 0, characters: 0 })
  return sum([core, largest])
}

function sum(parts: readonly Codes[]): Codes {
  return {
    count: parts.reduce((total, { count }) => total + count, 0),
    characters: parts.reduce((total, { characters }) => total + characters, 0),
  }
}
