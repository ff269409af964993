import type { Db, Pool, Tx } from '../db/handle.ts'
import { App } from './app.ts'
import { BaseModel, rowsOf } from './base-model.ts'
import { Organization } from './organization.ts'

/** An invitation with its app, if it names one, and its organization. */
export type FullInvitation = Invitation & { organization: Organization }

/** An address hardly has more at a time. */
const mostListed = 50

/** An invitation to join an organization. */
export class Invitation extends BaseModel {
  static override tableName = 'invitations'
  static override jsonAttributes = ['role_codes']
  static override booleanColumns = ['grants_app']
  static override relationMappings = () => ({
    app: { relation: BaseModel.BelongsToOneRelation, modelClass: App, join: { from: 'invitations.app_id', to: 'apps.id' } },
    organization: {
      relation: BaseModel.BelongsToOneRelation,
      modelClass: Organization,
      join: { from: 'invitations.organization_id', to: 'organizations.id' },
    },
  })

  declare id: string
  declare organization_id: string
  declare token_hash: string
  declare email: string | null
  declare role_codes: string[]
  declare app_id: string | null
  /** Whether a system_admin sent it. Only then does accepting it grant the app and prove the address. */
  declare grants_app: boolean
  declare invited_by: string | null
  declare created_at: number
  declare expires_at: number
  declare accepted_at: number | null
  declare accepted_by: string | null
  declare app?: App | null
  declare organization?: Organization

  /** Ends the open invitations to one of the addresses, and blanks their addresses. */
  static async blankOpen(db: Pool, emails: readonly string[]): Promise<void> {
    await rowsOf(Invitation, db)
      .whereIn('email', emails)
      .whereNull('accepted_at')
      .update({ email: null, expires_at: db.raw('??', ['created_at']) })
  }

  /** An invitation that can still be accepted, with its app and organization. */
  static async findOpen(
    db: Db,
    by: { token_hash: string } | { id: string; email: string },
    now: number,
  ): Promise<FullInvitation | undefined> {
    const invitation = await Invitation.#open(db, now).findOne(by).withGraphFetched('[app, organization]')
    return invitation && isFull(invitation) ? invitation : undefined
  }

  /** An invitation that the holder of the address can still accept. */
  static async findAcceptable(
    db: Db,
    tokenHash: string,
    { email, now }: { email: string; now: number },
  ): Promise<Invitation | undefined> {
    return Invitation.#acceptable(db, email, now).findOne({ token_hash: tokenHash })
  }

  /** Accepts the invitation. False if the user can no longer accept it. */
  static async spend(db: Tx, id: string, user: { id: string; email: string }, now: number): Promise<boolean> {
    const spent = { accepted_at: now, accepted_by: user.id }
    return (await Invitation.#acceptable(db, user.email, now).where({ id }).patch(spent)) > 0
  }

  /** The same with their organizations, newest first. */
  static async listFullTo(db: Db, email: string, now: number): Promise<FullInvitation[]> {
    const open = Invitation.#open(db, now).where({ email }).withGraphFetched('[app, organization]')
    return (await open.orderBy('invitations.id', 'desc').limit(mostListed)).filter(isFull)
  }

  static #open(db: Db, now: number) {
    return Invitation.query(db).whereNull('accepted_at').where('expires_at', '>', now)
  }

  static #acceptable(db: Db, email: string, now: number) {
    return Invitation.#open(db, now).where((any) => any.whereNull('email').orWhere('email', email))
  }
}

/** The foreign key ensures that the organization exists. */
function isFull(invitation: Invitation): invitation is FullInvitation {
  return invitation.organization !== undefined
}
