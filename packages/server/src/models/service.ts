import { type Db, isPostgres, type Tx } from '../db/handle.ts'
import { only } from '../lib/collections.ts'
import { BaseModel, rowsOf } from './base-model.ts'

/** The id of the service, which tells which database this is, as a column for a statement that runs anyway. */
export const serviceIdColumn = '(select id from service) as service_id'

/** The service as a whole: one row per database, created with it. */
export class Service extends BaseModel {
  static override tableName = 'service'

  declare id: string
  /** Tokens of all users with a lower `iat` are dead. */
  declare min_iat: number
  /** 1 until a start after the upgrade has granted system_admins the apps that they administer in. */
  declare admin_grants_due: number

  static async getId(db: Db): Promise<string> {
    return only(await Service.query(db).select('id')).id
  }

  /** Raises the lowest valid `iat` of all tokens to slightly after the present, and returns it. */
  static async raiseMinIat(db: Tx, lead: Lead): Promise<number> {
    return only(
      await rowsOf(Service, db)
        .update({ min_iat: presentIat(db, lead) })
        .returning('min_iat'),
    ).min_iat
  }

  /** True once after an upgrade from a version in which a system_admin entered every app without a grant. */
  static async takeAdminGrantsDue(db: Tx): Promise<boolean> {
    return (await rowsOf(Service, db).where({ admin_grants_due: 1 }).update({ admin_grants_due: 0 })) > 0
  }
}

interface Lead {
  now: number
  leadSeconds: number
}

/**
 * A value for `min_iat`: the present in seconds plus `leadSeconds`, or the stored value if that is later. It uses the clock of
 * the database, which all servers share. On SQLite there is one server, and `now` is its clock.
 */
export function presentIat(db: Tx, { now, leadSeconds }: Lead) {
  return isPostgres(db)
    ? db.raw('greatest(min_iat, floor(extract(epoch from clock_timestamp()))::bigint + ?)', [leadSeconds])
    : db.raw('max(min_iat, ?)', [Math.floor(now / 1000) + leadSeconds])
}
