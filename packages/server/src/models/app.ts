import type { ModelObject } from 'objection'
import { type Db, isPostgres, type Tx } from '../db/handle.ts'
import { keptFromDeletion } from '../db/locks.ts'
import { SYSTEM_ADMIN } from '../lib/authority.ts'
import type { Brand } from '../lib/brand.ts'
import { only } from '../lib/collections.ts'
import type { ImageType } from '../lib/image.ts'
import { isUuid } from '../lib/uuid.ts'
import { BaseModel, rowsOf } from './base-model.ts'
import { presentIat } from './service.ts'

/** An element of `webhooks` as stored; `secret_box` is the sealed signing secret. */
export interface StoredWebhook {
  name: string
  url: string
  events: 'user.registered'[]
  enabled: boolean
  secret_box: string | null
}

/** Whether an app that the user of `u` may enter requires a second factor of somebody, by now or from an announced date on. */
export const demandsSecond = `exists (select 1 from apps a where a.status = 'active' and a.require_two_factor <> 'off'
      and (a.auto_grant_on_signup = 1
        or exists (select 1 from user_apps g where g.app_id = a.id and g.user_id = u.id and g.status = 'active')
        or (a.built_in = 1 and exists (select 1 from user_roles r where r.user_id = u.id and r.role_code = '${SYSTEM_ADMIN}'))))`

/** What decides whether a system_admin can administer through an app. */
const namedColumns = [
  'id',
  'code',
  'status',
  'built_in',
  'require_two_factor',
  'registration_namespace',
  'read_namespaces',
  'require_verified_email',
] as const

/** The settings of an app. */
export type AppColumns = Omit<ModelObject<App>, 'created_at' | 'updated_at'>

/** An app that users sign in to. */
export class App extends BaseModel {
  static override tableName = 'apps'
  static override jsonAttributes = [
    'allowed_redirect_urls',
    'service_codes',
    'read_namespaces',
    'linked_app_codes',
    'override_role_codes',
    'allowed_email_domains',
    'allowed_auth_methods',
    'webhooks',
    'brand',
  ]
  static override booleanColumns = [
    'auto_grant_on_signup',
    'auto_grant_follows_policy',
    'organization_sign_up',
    'require_verified_email',
    'machine_tokens',
    'device_grant',
    'single_sign_on',
    'built_in',
  ]

  declare id: string
  declare code: string
  declare name: string
  declare description: string | null
  declare status: 'active' | 'inactive'
  declare built_in: boolean
  declare allowed_redirect_urls: string[]
  declare service_codes: string[]
  declare auto_grant_on_signup: boolean
  /** Whether `sign_up` and `allowed_email_domains` also decide whom the app grants access automatically. */
  declare auto_grant_follows_policy: boolean
  declare registration_namespace: string
  declare read_namespaces: string[]
  declare default_organization_id: string | null
  declare default_role_code: string | null
  declare linked_app_codes: string[]
  declare override_role_codes: string[]
  declare frontend_url: string | null
  declare allowed_email_domains: string[]
  declare allowed_auth_methods: string[]
  declare webhooks: StoredWebhook[]
  declare permission_scope: 'services' | 'roles'
  /** Whether the shared secret or the app's own key signs its tokens. */
  declare signing: 'shared' | 'own'
  declare sign_up: 'open' | 'invitation' | 'closed'
  /** Whether a registration may create an organization. */
  declare organization_sign_up: boolean
  /** Whether only users who have shown that the mailbox is theirs may enter. */
  declare require_verified_email: boolean
  /** Whether service accounts may get tokens for it. */
  declare machine_tokens: boolean
  /** Whether people who are signed in at this service enter without a page. */
  declare single_sign_on: boolean
  /** How long ago a person who enters through a browser may have signed in. Null if any time will do. */
  declare max_sign_in_age_seconds: number | null
  /** Whether people may allow it on devices without a browser. */
  declare device_grant: boolean
  /** Whether it authenticates with a client secret where it gets tokens. */
  declare client: 'public' | 'confidential'
  /** For how many days an app accepts that the second factor was shown in the same browser. */
  declare trust_device_days: number
  /** Of whom the app demands that they have shown a second factor: `admins` are users with a global role besides the base role. */
  declare require_two_factor: 'off' | 'admins' | 'everyone'
  /** From when on it does, in milliseconds. Null for at once. */
  declare require_two_factor_from: number | null
  /** What its pages and mails show. Members that were never set are missing. */
  declare brand: Partial<Brand>
  /** The digest of its logo. */
  declare logo: string | null
  /** Tokens with a lower `iat` are dead. New tokens always have this `iat` or a higher one. In seconds. */
  declare min_iat: number
  declare created_at: number
  declare updated_at: number

  /** The app with this UUID or code, or undefined. */
  static findByRef(db: Db, ref: string) {
    return App.find(db, isUuid(ref) ? { id: ref } : { code: ref })
  }

  /**
   * Keeps an app from being deleted until the transaction ends; false if it is gone. A deletion takes the app before the rows that
   * go with it. So call this before one of them is changed in a transaction that also adds one, or the two deadlock. Needs no query
   * on SQLite, which has only one writer.
   */
  static async keep(db: Tx, id: string): Promise<boolean> {
    if (!isPostgres(db)) return true
    return (await keptFromDeletion(db, rowsOf(App, db).where({ id }).first('id'))) !== undefined
  }

  /** The pools that each app names, in any order. */
  static async listPools(db: Db): Promise<Pick<App, 'id' | 'code' | 'registration_namespace' | 'read_namespaces'>[]> {
    return App.query(db).select('id', 'code', 'registration_namespace', 'read_namespaces')
  }

  /** The apps with one of the ids or codes, sorted by id. Keeps them from being deleted until the transaction ends. */
  static async listKeptByRefs(
    db: Tx,
    { ids, codes }: { ids: readonly string[]; codes: readonly string[] },
  ): Promise<Pick<App, 'id' | 'code'>[]> {
    const named = rowsOf(App, db).where((any) => any.whereIn('id', ids).orWhereIn('code', codes))
    return keptFromDeletion(db, named.orderBy('id').select('id', 'code'))
  }

  /** The apps with these codes, sorted by id; with `*`, every active app. */
  static async listNamed(db: Db, codes: readonly string[]): Promise<NamedApp[]> {
    const query = App.query(db)
      .orderBy('id')
      .select(...namedColumns)
    return codes.includes('*') ? query.where({ status: 'active' }) : query.whereIn('code', [...codes])
  }

  /** The codes of the apps with these ids. Skips unknown ids. */
  static async listCodes(db: Db, ids: readonly string[]): Promise<Pick<App, 'id' | 'code'>[]> {
    return ids.length === 0 ? [] : rowsOf(App, db).whereIn('id', ids).select('id', 'code')
  }

  /** An app that names the role in its settings. */
  static async findByRole(db: Db, code: string): Promise<Pick<App, 'code'> | undefined> {
    // The column is a JSON list of codes. `_` is the only character of a code that is special in LIKE.
    const listed = `%"${code.replaceAll('_', '\\_')}"%`
    return rowsOf(App, db)
      .where({ default_role_code: code })
      .orWhereRaw("override_role_codes like ? escape '\\'", [listed])
      .first('code')
  }

  /** Whether an app that a user may enter requires a second factor of somebody, by now or from an announced date on. */
  static async demandsSecond(db: Db, userId: string): Promise<boolean> {
    return (await db('users as u').where('u.id', userId).whereRaw(demandsSecond).first('u.id')) !== undefined
  }

  /** The active apps that may let somebody in without a grant of theirs: those that grant by themselves, and the built-in one. */
  static async listOpen(db: Db): Promise<App[]> {
    return App.query(db)
      .where({ status: 'active' })
      .where((either) => either.where({ auto_grant_on_signup: 1 }).orWhere({ built_in: 1 }))
      .orderBy('code')
  }

  /** Raises the lowest valid `iat` of the app's tokens to slightly after the present, and returns it. */
  static async raiseMinIat(db: Tx, id: string, lead: { now: number; leadSeconds: number }): Promise<number> {
    const raised = { min_iat: presentIat(db, lead) }
    return only(await rowsOf(App, db).where({ id }).update(raised).returning('min_iat')).min_iat
  }
}

export type NamedApp = Pick<App, (typeof namedColumns)[number]>

/** The logo of an app. */
export class AppLogo extends BaseModel {
  static override tableName = 'app_logos'
  static override idColumn = 'app_id'

  declare app_id: string
  /** The SHA-256 of the image in hex, by which it is found. Apps with the same logo have the same digest. */
  declare digest: string
  declare type: ImageType
  declare image: Buffer
}
