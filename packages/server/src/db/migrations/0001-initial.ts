import type { Knex } from 'knex'
import type { SchemaDb } from './schema-db.ts'

// Conventions of every table (docs/why/data-model.md): ids are UUIDv7; times are bigint milliseconds since 1970
// from the app's clock; yes or no is an integer 0 or 1; lists and objects are JSON text. So one statement means the same on both
// databases. Codes of roles and names of pools and services never change and serve as keys themselves.
// "Reserved" marks a column or table that no code reads or writes yet. It is here so that the feature it is for needs no migration.

function stamps(t: Knex.CreateTableBuilder): void {
  t.bigInteger('created_at').notNullable()
  t.bigInteger('updated_at').notNullable()
}

function owner(t: Knex.CreateTableBuilder, column: string, table: string): Knex.ReferencingColumnBuilder {
  return t.uuid(column).references('id').inTable(table).onDelete('CASCADE')
}

/** A text in the order of its characters' codes on both databases; Postgres would order it by the language of the server. */
function textByCode(db: SchemaDb, t: Knex.CreateTableBuilder, column: string): Knex.ColumnBuilder {
  return t.specificType(column, db.client.driverName === 'pg' ? 'text collate "C"' : 'text')
}

export async function up(db: SchemaDb): Promise<void> {
  await createOrganizationsAndRoles(db)
  await createApps(db)
  await createAppKeys(db)
  await createUsers(db)
  await createMembershipsAndGrants(db)
  await createAccessRequests(db)
  await createSessions(db)
  await createSecondFactors(db)
  await createThirdPartyLogin(db)
  await createInvitationsAndMailTokens(db)
  await createServiceAccounts(db)
  await createOutbox(db)
  await createGenerations(db)
  await createService(db)
  await createAuditEvents(db)
  await createLimits(db)
  await createTextSearch(db)
}

async function createOrganizationsAndRoles(db: SchemaDb): Promise<void> {
  await db.schema.createTable('organizations', (t) => {
    t.uuid('id').primary()
    t.text('slug').notNullable().unique()
    t.text('name').notNullable()
    stamps(t)
  })
  await db.schema.createTable('roles', (t) => {
    t.text('code').primary()
    t.text('name').notNullable()
    t.text('scope').notNullable().checkIn(['global', 'org'])
    t.text('description')
    t.integer('built_in').notNullable().defaultTo(0)
    // Who gives and takes an org-scoped role in an organization.
    t.text('assignable_by').notNullable().defaultTo('system_admin').checkIn(['system_admin', 'org_admin'])
    stamps(t)
  })
  // One row per service that ever registered: the row that its registrations lock, and the newest revision they named.
  await db.schema.createTable('permission_services', (t) => {
    t.text('service').primary()
    t.bigInteger('revision')
    t.bigInteger('registered_at').notNullable()
  })
  await db.schema.createTable('permissions', (t) => {
    t.uuid('id').primary()
    t.text('service').notNullable().references('service').inTable('permission_services')
    t.text('code').notNullable()
    t.text('name').notNullable()
    t.text('resource').notNullable()
    t.text('action').notNullable()
    t.bigInteger('pruned_at')
    stamps(t)
    t.unique(['service', 'code'])
  })
  // A pruned permission is a tombstone: it owns nothing, so another service may declare its code.
  await db.raw('create unique index permissions_code_live on permissions (code) where pruned_at is null')
  await db.schema.createTable('role_permissions', (t) => {
    t.text('role_code').notNullable().references('code').inTable('roles').onDelete('CASCADE')
    owner(t, 'permission_id', 'permissions').notNullable()
    t.bigInteger('created_at').notNullable()
    t.primary(['role_code', 'permission_id'])
    t.index(['permission_id'])
  })
}

/**
 * Reserved: the secrets that sign the tokens of one app, at most one in each stage. The next one is accepted already, the current one
 * signs, the previous one is still accepted. Without a box it is the shared secret, which a change may begin or end with.
 */
async function createAppKeys(db: SchemaDb): Promise<void> {
  await db.schema.createTable('app_keys', (t) => {
    owner(t, 'app_id', 'apps').notNullable()
    t.integer('version').notNullable()
    t.text('secret_box')
    t.text('stage').notNullable().checkIn(['next', 'current', 'previous'])
    t.bigInteger('created_at').notNullable()
    t.primary(['app_id', 'version'])
    t.unique(['app_id', 'stage'])
  })
}

async function createApps(db: SchemaDb): Promise<void> {
  await db.schema.createTable('apps', (t) => {
    t.uuid('id').primary()
    t.text('code').notNullable().unique()
    t.text('name').notNullable()
    t.text('description')
    t.text('status').notNullable().checkIn(['active', 'inactive'])
    t.integer('built_in').notNullable().defaultTo(0)
    t.text('allowed_redirect_urls').notNullable().defaultTo('[]')
    t.text('service_codes').notNullable().defaultTo('[]')
    t.integer('auto_grant_on_signup').notNullable().defaultTo(0)
    t.text('registration_namespace').notNullable().defaultTo('default')
    t.text('read_namespaces').notNullable().defaultTo('[]')
    t.uuid('default_organization_id').references('id').inTable('organizations').onDelete('RESTRICT').index()
    t.text('default_role_code').references('code').inTable('roles').onDelete('RESTRICT').index()
    t.text('linked_app_codes').notNullable().defaultTo('[]')
    t.text('override_role_codes').notNullable().defaultTo('[]')
    t.text('frontend_url')
    t.text('allowed_email_domains').notNullable().defaultTo('[]')
    t.text('allowed_auth_methods').notNullable().defaultTo('[]')
    t.text('webhooks').notNullable().defaultTo('[]')
    t.text('permission_scope').notNullable().defaultTo('services').checkIn(['services', 'roles'])
    // Reserved: whether the tokens of the app are signed with the shared secret or with one of `app_keys`.
    t.text('signing').notNullable().defaultTo('shared').checkIn(['shared', 'own'])
    // Reserved: whether service accounts may get access tokens for the app.
    t.integer('machine_tokens').notNullable().defaultTo(0)
    t.text('sign_up').notNullable().defaultTo('open').checkIn(['open', 'invitation', 'closed'])
    t.integer('organization_sign_up').notNullable().defaultTo(1)
    t.integer('require_verified_email').notNullable().defaultTo(0)
    // Seconds since 1970. Tokens of the app with a lower `iat` are dead: those from before it was deactivated.
    t.bigInteger('min_iat').notNullable().defaultTo(0)
    stamps(t)
  })
  // For a while the consumers of a deleted app still learn that its tokens are dead, unless another app takes the code.
  await db.schema.createTable('deleted_apps', (t) => {
    t.text('code').primary()
    t.uuid('app_id').notNullable()
    t.bigInteger('deleted_at').notNullable().index()
  })
}

async function createUsers(db: SchemaDb): Promise<void> {
  await db.schema.createTable('users', (t) => {
    t.uuid('id').primary()
    t.text('email').notNullable()
    t.bigInteger('email_verified_at')
    // When an address of the account was first verified: never cleared, while a new address clears the column above.
    t.bigInteger('first_verified_at')
    // When whoever signs in to the account showed that they read the mail of the address. The link of a mail alone does not: it shows
    // that the address is right, and somebody else may have registered it.
    t.bigInteger('mailbox_proven_at')
    t.text('made_by').notNullable().defaultTo('self').checkIn(['self', 'admin', 'import', 'provider', 'bootstrap'])
    t.text('password_hash')
    t.text('first_name')
    t.text('last_name')
    textByCode(db, t, 'namespace').notNullable()
    // Reserved: when the user last logged in. Sessions tell the same until they are cleaned up.
    t.bigInteger('last_login_at')
    t.text('status').notNullable().defaultTo('active').checkIn(['active', 'suspended', 'deleted'])
    // Only ever grows; copied into each access token as `tv`. A token lives while its tv >= both floors here and at user_apps. The
    // session floor ends sessions with their tokens, the access floor tokens alone.
    t.integer('token_version').notNullable().defaultTo(0)
    t.integer('min_token_version').notNullable().defaultTo(0)
    t.integer('min_access_version').notNullable().defaultTo(0)
    t.bigInteger('deleted_at')
    stamps(t)
    t.check('email_verified_at is null or first_verified_at is not null')
  })
  // Lists the users of a pool, counts them and steps through the pools, each off the index alone.
  await db.raw("create index users_namespace_live on users (namespace, id) where status <> 'deleted'")
  // The few that are not active, which would be far between among all others.
  await db.raw("create index users_not_active on users (status, id) where status <> 'active'")
  // Serves every search by address, and is the last line of defence for "unique per pool"; a deleted user's address is free.
  await db.raw("create unique index users_email_namespace_live on users (email, namespace) where status <> 'deleted'")
  await db.schema.createTable('user_namespaces', (t) => {
    owner(t, 'user_id', 'users').notNullable()
    textByCode(db, t, 'namespace').notNullable()
    t.bigInteger('created_at').notNullable()
    t.primary(['user_id', 'namespace'])
    t.index(['namespace', 'user_id'])
  })
  await db.schema.createTable('user_roles', (t) => {
    owner(t, 'user_id', 'users').notNullable()
    t.text('role_code').notNullable().references('code').inTable('roles').onDelete('RESTRICT')
    t.bigInteger('created_at').notNullable()
    t.primary(['user_id', 'role_code'])
    t.index(['role_code', 'user_id'])
  })
}

async function createMembershipsAndGrants(db: SchemaDb): Promise<void> {
  await db.schema.createTable('organization_memberships', (t) => {
    t.uuid('id').primary()
    t.uuid('organization_id').notNullable().references('id').inTable('organizations').onDelete('RESTRICT')
    owner(t, 'user_id', 'users').notNullable()
    t.bigInteger('created_at').notNullable()
    t.unique(['organization_id', 'user_id'])
    t.index(['user_id'])
    t.index(['organization_id', 'id'])
  })
  await db.schema.createTable('membership_roles', (t) => {
    owner(t, 'membership_id', 'organization_memberships').notNullable()
    t.text('role_code').notNullable().references('code').inTable('roles').onDelete('RESTRICT')
    t.primary(['membership_id', 'role_code'])
    t.index(['role_code'])
  })
  // The contract's user_apps: may this user enter this app. A revoked row stays, so that auto-grant cannot bring it back.
  await db.schema.createTable('user_apps', (t) => {
    t.uuid('id').primary()
    owner(t, 'user_id', 'users').notNullable()
    owner(t, 'app_id', 'apps').notNullable()
    t.text('status').notNullable().checkIn(['active', 'revoked'])
    t.text('granted_via').notNullable()
    // The user or service account that granted it last; null for what the service did by itself.
    t.uuid('granted_by')
    t.text('reason')
    t.integer('min_token_version').notNullable().defaultTo(0)
    t.integer('min_access_version').notNullable().defaultTo(0)
    t.bigInteger('granted_at').notNullable()
    t.bigInteger('expires_at')
    t.bigInteger('revoked_at')
    t.unique(['user_id', 'app_id'])
    t.index(['app_id', 'id'])
    t.index(['app_id', 'user_id'])
  })
}

/** Reserved: a user's question to be let into an app. A user has at most one open request for an app. */
async function createAccessRequests(db: SchemaDb): Promise<void> {
  await db.schema.createTable('access_requests', (t) => {
    t.uuid('id').primary()
    owner(t, 'user_id', 'users').notNullable()
    owner(t, 'app_id', 'apps').notNullable()
    t.text('status').notNullable().defaultTo('open').checkIn(['open', 'approved', 'denied'])
    // What the user wrote to the admins, and what the admin answered.
    t.text('message')
    t.text('reason')
    t.uuid('decided_by')
    t.bigInteger('decided_at')
    t.bigInteger('created_at').notNullable()
    t.index(['user_id', 'id'])
    t.index(['app_id', 'id'])
    t.index(['status', 'id'])
  })
  await db.raw("create unique index access_requests_open on access_requests (user_id, app_id) where status = 'open'")
}

async function createSessions(db: SchemaDb): Promise<void> {
  await db.schema.createTable('sessions', (t) => {
    t.uuid('id').primary()
    owner(t, 'user_id', 'users').notNullable()
    owner(t, 'app_id', 'apps')
    // Stays when the organization is deleted: a session of an organization never becomes one without.
    t.uuid('organization_id')
    t.text('auth_method').notNullable()
    // The user's token_version when the session began. A floor raised above it ends the session, also one that began in a race.
    t.integer('token_version').notNullable()
    t.text('ip')
    t.text('user_agent')
    t.bigInteger('created_at').notNullable()
    t.bigInteger('last_used_at').notNullable()
    // When its user last proved who they are, with the second factor where one was active; a refresh proves nothing.
    t.bigInteger('proven_at')
    // However often it is refreshed, a session ends here.
    t.bigInteger('expires_at').notNullable()
    t.bigInteger('ended_at')
    t.text('ended_reason')
    t.index(['user_id', 'id'])
    t.index(['app_id'])
    t.index(['expires_at'])
  })
  await db.raw('create index sessions_ended on sessions (ended_at) where ended_at is not null')
  // One row per refresh token ever given: a spent one is recognized when it comes back, and ends its session.
  await db.schema.createTable('refresh_tokens', (t) => {
    t.text('token_hash').primary()
    owner(t, 'session_id', 'sessions').notNullable()
    t.bigInteger('created_at').notNullable()
    t.bigInteger('expires_at').notNullable()
    t.bigInteger('used_at')
    t.text('successor_hash')
    // With the token itself it gives the successor again, to a client whose answer was lost.
    t.text('successor_salt')
    // Reserved: how many tokens of the session came before this one. Spent tokens far behind the newest can then be deleted.
    t.integer('position').notNullable().defaultTo(0)
    t.index(['session_id'])
    t.index(['expires_at'])
  })
  await db.schema.createTable('revocations', (t) => {
    t.bigIncrements('cursor')
    // Null with a `min_iat`, which is about everybody.
    t.uuid('user_id')
    t.uuid('app_id')
    t.uuid('session_id')
    t.integer('min_tv')
    t.bigInteger('min_iat')
    t.bigInteger('at').notNullable().index()
  })
  // Which secrets the consumers of an app accept: one row per set of key ids, sorted and joined by commas.
  await db.schema.createTable('consumer_secrets', (t) => {
    owner(t, 'app_id', 'apps').notNullable()
    t.text('kids').notNullable()
    t.bigInteger('last_seen_at').notNullable().index()
    t.primary(['app_id', 'kids'])
  })
}

async function createSecondFactors(db: SchemaDb): Promise<void> {
  await db.schema.createTable('second_factors', (t) => {
    t.uuid('user_id').primary().references('id').inTable('users').onDelete('CASCADE')
    t.text('totp_box').notNullable()
    t.bigInteger('activated_at')
    // The newest accepted time step: it and all before it are spent.
    t.bigInteger('last_step')
    t.bigInteger('created_at').notNullable()
  })
  await db.schema.createTable('recovery_codes', (t) => {
    owner(t, 'user_id', 'users').notNullable()
    t.text('code_hash').notNullable()
    t.bigInteger('used_at')
    t.primary(['user_id', 'code_hash'])
  })
  // Reserved: the WebAuthn credentials that a user logs in with. The key is a COSE key, and both it and the id are base64url.
  await db.schema.createTable('passkeys', (t) => {
    t.uuid('id').primary()
    owner(t, 'user_id', 'users').notNullable()
    t.text('credential_id').notNullable().unique()
    t.text('public_key').notNullable()
    t.bigInteger('sign_count').notNullable()
    t.text('transports').notNullable().defaultTo('[]')
    t.text('name').notNullable()
    t.bigInteger('created_at').notNullable()
    t.bigInteger('last_used_at')
    t.index(['user_id', 'id'])
  })
}

async function createThirdPartyLogin(db: SchemaDb): Promise<void> {
  await db.schema.createTable('sso_providers', (t) => {
    t.uuid('id').primary()
    t.text('code').notNullable().unique()
    t.text('issuer').notNullable()
    t.text('client_id').notNullable()
    t.text('client_secret_box').notNullable()
    t.text('scopes').notNullable()
    t.text('app_codes').notNullable().defaultTo('[]')
    t.text('trusted_email_domains').notNullable().defaultTo('[]')
    t.integer('enabled').notNullable()
    stamps(t)
  })
  // Who a provider calls by this subject. One subject may be several users, in pools of their own, as an e-mail may.
  await db.schema.createTable('user_identities', (t) => {
    t.uuid('id').primary()
    owner(t, 'user_id', 'users').notNullable()
    t.uuid('provider_id').notNullable().references('id').inTable('sso_providers').onDelete('RESTRICT')
    t.text('subject').notNullable()
    t.bigInteger('created_at').notNullable()
    t.unique(['provider_id', 'subject', 'user_id'])
    t.index(['user_id', 'id'])
  })
  // A login on its way to a provider and back: spent once by the answer, which gives it a code, and once by whoever brings that code.
  await db.schema.createTable('sso_logins', (t) => {
    t.text('state_hash').primary()
    owner(t, 'provider_id', 'sso_providers').notNullable().index()
    owner(t, 'app_id', 'apps').notNullable().index()
    // Of a link, which only this session may complete: its bearer is looked up anyway, so the row needs no reference.
    t.uuid('session_id')
    // What the provider was when it began: an answer is not judged by what an admin made of it since.
    t.text('issuer').notNullable()
    t.text('redirect_url').notNullable()
    t.text('client_state').notNullable()
    t.text('code_challenge').notNullable()
    // Nonce and verifier, sealed, until the answer comes.
    t.text('challenge_box')
    t.bigInteger('answered_at')
    t.text('code_hash').unique()
    // Whom the code is about, so that claiming an account can end it.
    t.text('subject')
    // What the provider said of the user, sealed, until the code is spent.
    t.text('claims_box')
    t.bigInteger('spent_at')
    t.bigInteger('created_at').notNullable()
    t.bigInteger('expires_at').notNullable().index()
  })
}

async function createInvitationsAndMailTokens(db: SchemaDb): Promise<void> {
  await db.schema.createTable('invitations', (t) => {
    t.uuid('id').primary()
    t.uuid('organization_id').notNullable().references('id').inTable('organizations').onDelete('CASCADE')
    t.text('token_hash').notNullable().unique()
    t.text('email')
    t.text('role_codes').notNullable()
    owner(t, 'app_id', 'apps')
    // Set when a system_admin invited: only then does accepting grant the app, and prove the address.
    t.integer('grants_app').notNullable().defaultTo(0)
    t.uuid('invited_by')
    t.bigInteger('created_at').notNullable()
    t.bigInteger('expires_at').notNullable()
    t.bigInteger('accepted_at')
    t.uuid('accepted_by')
    t.index(['organization_id', 'id'])
    t.index(['app_id'])
  })
  await db.raw('create index invitations_email on invitations (email) where email is not null')
  await db.raw('create index invitations_invited_by on invitations (invited_by) where invited_by is not null')
  await db.raw('create index invitations_accepted_by on invitations (accepted_by) where accepted_by is not null')
  await db.schema.createTable('mail_tokens', (t) => {
    t.text('token_hash').primary()
    owner(t, 'user_id', 'users').notNullable()
    t.text('purpose').notNullable().checkIn(['verify_email', 'reset_password', 'magic_link', 'change_email', 'undo_email_change'])
    // The address the mail went to.
    t.text('email').notNullable()
    // The address that the account must have still; null for one that takes back whatever it was changed to.
    t.text('account_email')
    // Of the address that a change can be taken back to.
    t.bigInteger('mailbox_proven_at')
    owner(t, 'app_id', 'apps').index()
    t.text('redirect_url')
    t.bigInteger('created_at').notNullable()
    t.bigInteger('expires_at').notNullable().index()
    t.bigInteger('spent_at')
    t.index(['user_id', 'purpose', 'created_at'])
  })
}

async function createServiceAccounts(db: SchemaDb): Promise<void> {
  await db.schema.createTable('service_accounts', (t) => {
    t.uuid('id').primary()
    t.text('name').notNullable().unique()
    t.text('service').notNullable()
    t.text('scopes').notNullable()
    t.text('token_hash').notNullable().unique()
    t.bigInteger('expires_at')
    t.bigInteger('last_used_at')
    // Reserved: the claim `tv` of the account's access tokens. It only grows, and tokens with a lower one are dead.
    t.integer('token_version').notNullable().defaultTo(0)
    stamps(t)
  })
  // By id and not by code: an app that takes the code of a deleted one takes over none of its service accounts.
  await db.schema.createTable('service_account_apps', (t) => {
    owner(t, 'service_account_id', 'service_accounts').notNullable()
    owner(t, 'app_id', 'apps').notNullable()
    t.primary(['service_account_id', 'app_id'])
    t.index(['app_id'])
  })
  // Reserved: the permissions that access tokens of the account carry, where the services of the app have them.
  await db.schema.createTable('service_account_permissions', (t) => {
    owner(t, 'service_account_id', 'service_accounts').notNullable()
    owner(t, 'permission_id', 'permissions').notNullable()
    t.bigInteger('created_at').notNullable()
    t.primary(['service_account_id', 'permission_id'])
    t.index(['permission_id'])
  })
}

async function createGenerations(db: SchemaDb): Promise<void> {
  // What servers keep in memory holds for one generation; whoever changes it writes another.
  await db.schema.createTable('generations', (t) => {
    t.text('name').primary()
    t.text('generation').notNullable()
  })
}

/** One row, made with the database: its id tells this one from that of another environment. */
async function createService(db: SchemaDb): Promise<void> {
  await db.schema.createTable('service', (t) => {
    t.uuid('id').primary()
    // Seconds since 1970. Every token with a lower `iat` is dead: those from after the moment that a restored backup is of.
    t.bigInteger('min_iat').notNullable().defaultTo(0)
  })
}

async function createOutbox(db: SchemaDb): Promise<void> {
  // Webhooks and mail: written in the transaction of what they tell about, sent by a worker that leases rows.
  await db.schema.createTable('outbox', (t) => {
    t.uuid('id').primary()
    t.text('kind').notNullable().checkIn(['webhook', 'mail'])
    t.uuid('app_id')
    t.uuid('user_id')
    // The webhook's name in its app, or the mail's purpose.
    t.text('name').notNullable()
    t.text('destination').notNullable()
    t.text('payload').notNullable()
    t.text('status').notNullable().defaultTo('pending').checkIn(['pending', 'delivered', 'failed'])
    // Of what is due, 0 goes before 1: a mail that somebody waits for before one that can wait.
    t.integer('priority').notNullable().defaultTo(0)
    t.integer('attempts').notNullable().defaultTo(0)
    // When it is due. A server that leases it sets this to the end of the lease, so what a dead server had leased falls due again.
    t.bigInteger('next_attempt_at').notNullable()
    t.integer('last_status')
    t.text('last_error')
    t.bigInteger('created_at').notNullable()
    t.bigInteger('finished_at')
    t.index(['app_id', 'id'])
    t.index(['app_id', 'status', 'id'])
    t.index(['user_id'])
    t.index(['destination'])
  })
  await db.raw("create index outbox_due on outbox (kind, priority, next_attempt_at) where status = 'pending'")
  await db.raw('create index outbox_finished on outbox (finished_at) where finished_at is not null')
}

async function createAuditEvents(db: SchemaDb): Promise<void> {
  // No foreign keys: the record outlives what it is about.
  await db.schema.createTable('audit_events', (t) => {
    t.uuid('id').primary()
    t.text('event').notNullable()
    t.text('reason')
    // What the caller of an admin write said for the audit.
    t.text('audit_reason')
    t.text('actor_type').notNullable().checkIn(['user', 'service_account', 'system', 'anonymous'])
    t.uuid('actor_id')
    t.uuid('user_id')
    t.uuid('app_id')
    t.text('ip')
    t.text('user_agent')
    t.text('request_id')
    t.text('details')
    // The address of a refused login that is about no user.
    t.text('email')
    // How often it happened: more than once only for what is counted in one row, by `counted_by`.
    t.integer('count').notNullable().defaultTo(1)
    t.text('counted_by')
    t.bigInteger('at').notNullable().index()
    // Reserved: what proves that nobody changed the row. `salt` and the personal fields make `personal_digest`, which stays when erasing
    // blanks both. `mac` is an HMAC of that digest and all other fields.
    t.text('salt')
    t.text('personal_digest')
    t.text('mac')
    // Reserved: the place of the row in the chain, and an HMAC of the `mac` of the row and the seal before it. A worker gives rows both
    // after they are committed, since ids are not in the order of commits.
    t.bigInteger('seal_position')
    t.text('seal')
    t.index(['event', 'id'])
    t.index(['user_id', 'id'])
    t.index(['app_id', 'id'])
    t.index(['actor_id', 'id'])
    t.index(['ip', 'id'])
  })
  await db.raw('create unique index audit_events_seal_position on audit_events (seal_position) where seal_position is not null')
  // Reserved: where the chain begins after retention deleted the rows before it: the last of their seals, signed.
  await db.schema.createTable('audit_checkpoints', (t) => {
    t.bigInteger('seal_position').primary()
    t.text('seal').notNullable()
    t.text('signature').notNullable()
    t.bigInteger('created_at').notNullable()
  })
  // Few, and read as a whole when a user is erased.
  await db.raw('create index audit_events_with_audit_reason on audit_events (user_id, id) where audit_reason is not null')
  await db.raw('create index audit_events_email_id on audit_events (email, id) where email is not null')
  await db.raw('create unique index audit_events_counted_by on audit_events (counted_by) where counted_by is not null')
}

async function createLimits(db: SchemaDb): Promise<void> {
  // Fixed windows from the first hit, counted by one upsert and shared by all servers.
  await db.schema.createTable('rate_limits', (t) => {
    t.text('key').primary()
    t.integer('count').notNullable()
    t.bigInteger('resets_at').notNullable().index()
  })
  // Keyed by (digest of an e-mail, pool), by a device of a user, or by the second factor of a user.
  await db.schema.createTable('lockouts', (t) => {
    textByCode(db, t, 'key').primary()
    // Whose credentials failed; null where nobody has the address.
    t.uuid('user_id')
    t.integer('failures').notNullable()
    t.bigInteger('last_failed_at').notNullable().index()
    t.bigInteger('locked_until')
    // How often the failures have locked.
    t.integer('locks').notNullable().defaultTo(0)
  })
}

/**
 * For searches by a part of a text (`whereFound` in models/list-query.ts). Postgres finds it by the three-letter pieces of the text,
 * where its extension for that can be had: every distribution brings it, and whoever may create in a database may load it there.
 * Without it, and on SQLite, a text that few rows hold is looked for in all of them.
 */
async function createTextSearch(db: SchemaDb): Promise<void> {
  if (db.client.driverName !== 'pg') return
  const isThere = await db
    .transaction((savepoint) => savepoint.raw('create extension if not exists pg_trgm'))
    .then(
      () => true,
      () => false,
    )
  if (!isThere) return
  const folded = (column: string) => `lower(${column} collate "C") gin_trgm_ops`
  for (const [table, columns] of [
    ['users', ['email', 'first_name', 'last_name']],
    ['organizations', ['slug', 'name']],
  ] as const) {
    await db.raw(`create index ${table}_search on ${table} using gin (${columns.map(folded).join(', ')})`)
  }
}
