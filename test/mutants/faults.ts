import { readFileSync } from 'node:fs'

/** A fault that somebody could make, and the tests that stand next to it: one of them has to fail when it is there. */
export interface PlantedFault {
  /** What would go wrong. */
  title: string
  /** From the root of the repository. */
  file: string
  /** Stands exactly once in the file. */
  search: string
  replace: string
  tests: readonly string[]
  /** Where the fault shows; SQLite when nothing is said. */
  database?: 'sqlite' | 'postgres' | 'postgres, many connections'
}

/** Why a fault cannot be planted in the file as it is now, or undefined. */
export function misfitOf({ file, search, replace }: PlantedFault): string | undefined {
  const places = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8').split(search).length - 1
  if (places !== 1) return `what it replaces stands ${places} times in ${file}`
  return search === replace ? 'it changes nothing' : undefined
}

const server = (path: string) => `packages/server/src/${path}`
const contract = (...names: string[]) => names.map((name) => `test/contract/${name}.test.ts`)

const signIn: PlantedFault[] = [
  {
    title: 'a lockout comes one failure late',
    file: server('models/lockout.ts'),
    search: ' >= :threshold then excluded.last_failed_at',
    replace: ' > :threshold then excluded.last_failed_at',
    tests: contract('limits-lockout'),
  },
  {
    title: 'tries while locked prolong the lock',
    file: server('models/lockout.ts'),
    search: 'where lockouts.locked_until is null or lockouts.locked_until <= :now\n',
    replace: '\n',
    // Only guesses that meet one another come so far.
    database: 'postgres, many connections',
    tests: contract('limits-lockout-races'),
  },
  {
    title: 'a complete login leaves the failures before it counted',
    file: server('resources/lockouts/lockouts.ts'),
    search: 'if (counted.length > 0) await Lockout.clear(deps.db, counted)',
    replace: '',
    tests: contract('limits-lockout'),
  },
  {
    title: 'a wrong second-factor code is not counted as a failure',
    file: server('flows/sign-in/second-factor.ts'),
    search: 'const { locks } = await countFailure(deps, { keys, userId: user.id }, codeRule(deps))',
    replace: 'const locks = undefined as number | undefined',
    tests: contract('two-factor'),
  },
  {
    title: 'wrong second-factor codes are forgotten in time, as wrong passwords are',
    file: server('flows/sign-in/second-factor.ts'),
    search: '{ keys, userId: user.id }, codeRule(deps))',
    replace: '{ keys, userId: user.id })',
    tests: contract('two-factor'),
  },
  {
    title: 'wrong passwords count in the first pool of an app alone',
    file: server('flows/sign-in/attempt.ts'),
    search: 'lockKeys: lockKeys(pools), clearedKeys }',
    replace: 'lockKeys: lockKeys(pools.slice(0, 1)), clearedKeys }',
    tests: contract('limits-lockout'),
  },
  {
    title: 'a complete login clears the pools in which somebody else has the address',
    file: server('flows/sign-in/attempt.ts'),
    search: 'pools.filter((pool) => !ofOthers.includes(pool))',
    replace: 'pools',
    tests: contract('limits-lockout'),
  },
  {
    title: 'a successful login keeps its attempt taken',
    file: server('flows/sign-in/enter.ts'),
    search: 'await giveBackAttempt(deps, counted.attempt)',
    replace: '',
    tests: contract('limits-account'),
  },
  {
    title: 'the account limit is counted per app',
    file: server('flows/sign-in/attempt.ts'),
    search: "limitKey: limitKey(deps, email, 'password')",
    replace: "limitKey: limitKey(deps, email, 'password', ...pools)",
    tests: contract('limits-account'),
  },
  {
    title: 'an unknown address costs no hash',
    file: server('flows/sign-in/login.ts'),
    search: 'const matches = await',
    replace: 'const matches = user !== undefined && await',
    tests: contract('limits-account', 'limits-lockout'),
  },
  {
    title: 'a locked account tries the password all the same',
    file: server('flows/sign-in/attempt.ts'),
    search: '    await assertNotLocked(deps, way.lockKeys)\n    return { target',
    replace: '    return { target',
    tests: contract('limits-lockout', 'login'),
  },
  {
    title: 'the second factor is asked for before the password',
    file: server('flows/sign-in/login.ts'),
    search: 'const user = await verifyPassword(deps, input.password, named, line)',
    replace:
      'if (named) await passSecondFactor(deps, named, input.two_factor_code, actor)\n        const user = await verifyPassword(deps, input.password, named, line)',
    tests: contract('two-factor', 'login'),
  },
  {
    title: 'a failed login is not audited',
    file: server('flows/sign-in/attempt.ts'),
    search:
      'if (error instanceof ApiError) await (plan.recordFailure?.(error, target) ?? recordLoginFailure(deps, error, target, actor))\n',
    replace: '',
    tests: contract('audit-events', 'login'),
  },
  {
    title: 'a TOTP step may be used twice',
    file: server('models/second-factor.ts'),
    search: "row.whereNull('last_step').orWhere('last_step', '<', step)",
    replace: "row.whereNull('last_step').orWhere('last_step', '<=', step)",
    tests: contract('two-factor'),
  },
  {
    title: 'a recovery code may be used twice',
    file: server('models/recovery-code.ts'),
    search: "      .whereNull('used_at')\n      .update({ used_at: now })",
    replace: '      .update({ used_at: now })',
    tests: contract('two-factor'),
  },
  {
    title: 'strangers who lock the password bar its signed-in user from giving it again',
    file: server('flows/sign-in/prove-again.ts'),
    search: 'sessionId: caller.sessionId, ',
    replace: '',
    tests: contract('fresh-login', 'password-change'),
  },
  {
    title: 'a mail token is spent twice',
    file: server('models/mail-token.ts'),
    search: ".where({ token_hash: hash }).whereNull('spent_at')",
    replace: '.where({ token_hash: hash })',
    tests: contract('mail-verification', 'password-reset', 'magic-link'),
  },
  {
    title: 'a token of one purpose serves another',
    file: server('models/mail-token.ts'),
    search: ".whereIn('purpose', [...purposes])",
    replace: '',
    tests: contract('mail-verification', 'password-reset', 'magic-link'),
  },
  {
    title: 'a provider links by e-mail to somebody with a further role',
    file: server('flows/sign-in/find-matched-user.ts'),
    search: ' || (await hasFurtherRoles(deps, holder))',
    replace: '',
    tests: contract('sso-trust'),
  },
  {
    title: 'a provider is believed for every domain',
    file: server('flows/sign-in/find-matched-user.ts'),
    search: '!isTrustedAddress(provider, profile) || ',
    replace: '',
    tests: contract('sso-trust'),
  },
  {
    title: 'an app that does not allow the provider gets a link',
    file: server('flows/sign-in/find-matched-user.ts'),
    search: 'assertMethodAllowed(app, provider.code)',
    replace: '',
    tests: contract('sso-trust'),
  },
  {
    title: 'the code of a link logs in',
    file: server('flows/sso/exchange-code.ts'),
    search: 'if (login.session_id !== null) return linkIdentity(deps, exchange, { bearer, origin })',
    replace: '',
    tests: contract('identity-link'),
  },
]

const gate: PlantedFault[] = [
  {
    title: 'a second factor that is turned on while the password is checked is not asked for',
    file: server('resources/sessions/admit.ts'),
    search: "if (hasSecondFactor && proof.second === null) throw new ApiError('two_factor_required')",
    replace: '',
    tests: contract('two-factor'),
  },
  {
    title: 'an invitation that stays unused admits to an app whose grant follows its policy',
    file: server('resources/sessions/admit.ts'),
    search: 'invitation?.opensSignUp === true',
    replace: 'invitation !== undefined',
    tests: contract('auto-grant-policy'),
  },
  {
    title: 'a system_admin is let in without being provisioned',
    file: server('resources/sessions/admit.ts'),
    search: 'if (entersWithoutGrant(globalRoles, request.app) && !grant.isRevoked)',
    replace: "if (globalRoles.includes('system_admin') && !grant.isRevoked)",
    tests: contract('users-system-admins'),
  },
  {
    title: 'auto-grant brings a revoked grant back',
    file: server('resources/sessions/admit.ts'),
    search: 'if (grant.exists || !(await isAutoGranted(deps, request))) return grant',
    replace: 'if (grant.isActive || !(await isAutoGranted(deps, request))) return { ...grant, isActive: true }',
    tests: contract('grants', 'auto-provisioning'),
  },
  {
    title: 'a suspended user comes in',
    file: server('resources/sessions/admit.ts'),
    search: "if (user.status !== 'active') throw",
    replace: "if (user.status === 'deleted') throw",
    tests: contract('login', 'refresh'),
  },
  {
    title: 'an inactive app gives tokens at a refresh',
    file: server('resources/sessions/admit.ts'),
    search: 'if (app) assertAppActive(app)',
    replace: '',
    tests: contract('refresh'),
  },
  {
    title: 'a token outlives the grant',
    file: server('resources/sessions/admit.ts'),
    search: 'grantExpiresAt: grant?.expiresAt ?? null',
    replace: 'grantExpiresAt: null',
    tests: contract('grants', 'token-claims'),
  },
  {
    title: 'an expired grant is active',
    file: server('lib/grant-state.ts'),
    search: 'expires_at === null || expires_at > now',
    replace: 'expires_at !== 0',
    tests: contract('grants', 'login'),
  },
  {
    title: 'a system_admin enters every app without a grant',
    file: server('lib/authority.ts'),
    search: 'return app?.built_in === true && globalRoles.includes(SYSTEM_ADMIN)',
    replace: 'return app !== null && globalRoles.includes(SYSTEM_ADMIN)',
    tests: contract('users-system-admins'),
  },
  {
    title: 'an app that is not named in AUTH_ADMIN_APP_CODES administers',
    file: server('lib/authority.ts'),
    search: '(takesAll || settings.adminAppCodes.includes(app.code))',
    replace: 'true',
    tests: contract('authority', 'admin-rights'),
  },
  {
    title: 'a deactivated app administers',
    file: server('lib/authority.ts'),
    search: 'app.isActive && (takesAll',
    replace: '(takesAll',
    tests: contract('authority'),
  },
  {
    title: 'a key that another server has finished is taken on',
    file: server('resources/sessions/authenticate-caller.ts'),
    search: '  if (caller.catalogGeneration !== generation) await',
    replace: '  if (caller.catalogGeneration === generation) await',
    tests: contract('own-keys-servers'),
    database: 'postgres, many connections',
  },
  {
    title: 'tokens stay verified when their key is gone',
    file: server('resources/sessions/authenticate-caller.ts'),
    search: 'deps.verifiedTokens.at(generation)',
    replace: "deps.verifiedTokens.at('')",
    tests: contract('own-keys', 'secret-rotation'),
  },
  {
    title: 'a verified token vouches for another one with its signature',
    file: server('resources/sessions/authenticate-caller.ts'),
    search: 'const known = verified.get(bearer)',
    replace: 'const known = [...verified].find(([token]) => token.slice(-43) === bearer.slice(-43))?.[1]',
    tests: contract('token-validity'),
  },
  {
    title: 'a key that another server has prepared is refused',
    file: server('resources/sessions/authenticate-caller.ts'),
    search: '  if (present !== generation) return',
    replace: '  if (present === undefined) return',
    tests: contract('own-keys-servers'),
    database: 'postgres, many connections',
  },
  {
    title: 'the server takes a token of a session that has ended',
    file: server('resources/sessions/authenticate-caller.ts'),
    search: 'session.ended_at === null &&',
    replace: '',
    tests: contract('sessions', 'token-validity'),
  },
  {
    title: 'the server forgets the floor of the app',
    file: server('resources/sessions/authenticate-caller.ts'),
    search: 'session.app_floor ?? 0',
    replace: '0',
    tests: contract('grants', 'token-validity'),
  },
  {
    title: 'a token of one session speaks for another user',
    file: server('resources/sessions/authenticate-caller.ts'),
    search: 'session.user_id === claims.uid &&',
    replace: '',
    tests: contract('token-validity'),
  },
]

const sessions: PlantedFault[] = [
  {
    title: 'global roles are in a token of an organization',
    file: server('resources/sessions/rights.ts'),
    search: 'membership?.role_codes ?? globalRoles',
    replace: '[...(membership?.role_codes ?? []), ...globalRoles]',
    tests: contract('token-claims', 'login'),
  },
  {
    title: 'a refresh token that is stored no longer is unknown',
    file: server('flows/refresh/refresh.ts'),
    search: 'if (sessionId === undefined || !session ||',
    replace: 'if (sessionId !== undefined || !session ||',
    tests: contract('refresh'),
  },
  {
    title: 'a refresh token may be used twice',
    file: server('models/refresh-token.ts'),
    search: 'where token_hash = :hash and used_at is null',
    replace: 'where token_hash = :hash',
    tests: contract('concurrency'),
    database: 'postgres, many connections',
  },
  {
    title: 'reuse of a refresh token ends nothing',
    file: server('flows/refresh/refresh.ts'),
    search: 'await transaction(deps, (deps) => endSession(deps, { sessionId: outcome',
    replace: 'if (outcome === undefined) await transaction(deps, (deps) => endSession(deps, { sessionId: outcome',
    tests: contract('refresh'),
  },
  {
    title: 'the leeway has no end',
    file: server('flows/refresh/refresh.ts'),
    search: '<= deps.config.refreshLeewaySeconds * 1000',
    replace: '<= deps.config.refreshLeewaySeconds * 1000_000',
    tests: contract('refresh'),
  },
  {
    title: 'a predecessor comes back after its successor was used',
    file: server('models/refresh-token.ts'),
    search: "where({ token_hash: hash }).whereNull('used_at')",
    replace: 'where({ token_hash: hash })',
    tests: contract('refresh'),
  },
  {
    title: 'an expired refresh token is taken',
    file: server('flows/refresh/refresh.ts'),
    search: '(presented.expires_at > now || presented.used_at !== null) &&',
    replace: '',
    tests: contract('refresh'),
  },
  {
    title: 'a refresh token outlives its session',
    file: server('resources/sessions/open-session.ts'),
    search: 'Math.min(now + deps.config.refreshTtlSeconds * 1000, session.expiresAt)',
    replace: 'now + deps.config.refreshTtlSeconds * 1000',
    tests: contract('refresh', 'sessions'),
  },
]

const revocations: PlantedFault[] = [
  {
    title: 'a reader resumes above transactions that are still open',
    file: server('resources/feeds/read-feed.ts'),
    search: 'const end = next === undefined ? Math.max(place, horizon)',
    replace: 'const end = next === undefined ? Math.max(place, cursors.placeOfPosition(snapshot.xmax))',
    tests: contract('user-changes'),
    database: 'postgres',
  },
  {
    title: 'the cursor of a page is taken after its rows',
    file: server('resources/feeds/read-feed.ts'),
    search: 'const end = next === undefined ? Math.max(place, horizon) : Math.min(cursors.placeOf(next), horizon)',
    replace: `const late = cursors.placeOfPosition((await Feed.getState(deps.db, table)).snapshot.xmin)
    const end = next === undefined ? Math.max(place, late) : Math.min(cursors.placeOf(next), horizon)`,
    tests: contract('feed-horizon-servers'),
    database: 'postgres, many connections',
  },
  {
    title: 'a feed goes on after a failover as if no commit were lost',
    file: server('resources/feeds/restart-feeds.ts'),
    search: 'if (lineage !== lineageOf(deps.db)) await beginLater',
    replace: 'if (lineage === undefined) await beginLater',
    tests: contract('failover-servers'),
    database: 'postgres, many connections',
  },
  {
    title: 'cursors are places without an origin',
    file: server('lib/feed-cursors.ts'),
    search: 'return this.origin.cursor + (place - placesBefore)',
    replace: 'return 1e15 + (place - placesBefore)',
    tests: contract('user-changes'),
  },
  {
    title: 'revoking one app kills the tokens of all',
    file: server('resources/revocations/end-tokens.ts'),
    search: '{ ofAllApps: appId === null }',
    replace: '{ ofAllApps: true }',
    tests: contract('grants', 'token-validity'),
  },
  {
    title: 'revoking an app sets no floor',
    file: server('models/user-app.ts'),
    search: '.update({ min_token_version: version })',
    replace: '.update({ min_token_version: 0 })',
    tests: contract('grants'),
  },
  {
    title: 'the feed does not tell of a session that ended',
    file: server('models/session.ts'),
    search: '[end, newEvent, newEnd]',
    replace: '[end, newEvent]',
    tests: contract('revocation-feed', 'sessions'),
  },
  {
    title: 'a consumer hears of the revocations of other apps',
    file: server('models/revocation.ts'),
    search: "of.where('app_id', appId)",
    replace: "of.whereNotNull('app_id')",
    tests: contract('revocation-feed'),
  },
]

const audit: PlantedFault[] = [
  {
    title: 'the proof of an event leaves out whom it is about',
    file: server('lib/audit-proof.ts'),
    search: '[] : [user_id, count]',
    replace: '[] : [count]',
    tests: contract('sealed-audit'),
  },
  {
    title: 'the proof of an event leaves out the address of its caller',
    file: server('lib/audit-proof.ts'),
    search: '  return [audit_reason, ip, user_agent, details, email]',
    replace: '  return [audit_reason, user_agent, details, email]',
    tests: contract('sealed-audit'),
  },
  {
    title: 'the seal of a batch does not hold its facts, nor the seal before it',
    file: server('lib/audit-proof.ts'),
    search: 'const facts = [previous, number, position, count, upto, tags, sealed_at,',
    replace: 'const facts = [typeof previous, typeof number, position, count, upto, tags, typeof sealed_at,',
    tests: contract('sealed-audit'),
  },
  {
    title: 'a seal of the former chain does not hold the seal before it',
    file: server('lib/audit-proof.ts'),
    search: "    return seal !== null && this.#isOf(seal, ['seal', previous, mac, position]) ? 'whole' : 'changed'",
    replace: "    return seal !== null && (previous ?? position) !== null ? 'whole' : 'changed'",
    tests: contract('sealed-audit'),
  },
  {
    title: 'a key that was replaced proves new events',
    file: server('lib/audit-proof.ts'),
    search: 'return mustBeConfigured && !this.#configured.has(id) ? undefined : this.#keys.get(id)',
    replace: 'return mustBeConfigured && id === undefined ? undefined : this.#keys.get(id)',
    tests: contract('sealed-audit'),
  },
  {
    title: 'a key that was replaced signs the ends of the chain',
    file: server('lib/audit-proof.ts'),
    search: '    if (!this.#configured.has(id)) return isKeyId(id)',
    replace: '    if (!this.#keys.has(id)) return isKeyId(id)',
    tests: contract('sealed-audit'),
  },
  {
    title: 'a new key does not sign the ends of the chain anew',
    file: server('resources/audit/lock-chain.ts'),
    search: '  await AuditChain.set(deps.db, { keys, signature: auditProofs.sign(headFacts(chain)) })',
    replace: '  await AuditChain.set(deps.db, { keys })',
    tests: contract('sealed-audit'),
  },
  {
    title: 'the sealer seals what the service did not write',
    file: server('resources/audit/seal-events.ts'),
    search: "    if (verdict !== 'whole' && !isAdopted) refused += 1",
    replace: "    if (verdict === 'unproven' && !isAdopted) refused += 1",
    tests: contract('sealed-audit'),
  },
  {
    title: 'two servers seal from the same end of the chain',
    file: server('models/audit-chain.ts'),
    search: '    return forUpdate(db, rowsOf(AuditChain, db).first())',
    replace: '    return rowsOf(AuditChain, db).first()',
    tests: contract('concurrency'),
    database: 'postgres, many connections',
  },
  {
    title: 'erasing keeps the salt of an event',
    file: server('lib/audit-proof.ts'),
    search: '    return { salt: null, personal_digest, mac, erased_by: erasedBy, erased_mac: erased }',
    replace: '    return { salt, personal_digest, mac, erased_by: erasedBy, erased_mac: erased }',
    tests: contract('sealed-audit'),
  },
  {
    title: 'what an erased event said can be put back',
    file: server('resources/audit/faults.ts'),
    search: '  const unerased = isErasure(row) && !isAdopted(row) ?',
    replace: '  const unerased = isErasure(row) && isAdopted(row) ?',
    tests: contract('sealed-audit'),
  },
  {
    title: 'retention believes the time of an event that was changed',
    file: server('resources/audit/expire-events.ts'),
    search: "      if (isWhole && row.at > until) return 'kept'",
    replace: "      if (row.at > until) return 'kept'",
    tests: contract('sealed-audit'),
  },
  {
    title: 'a chain that ends before its last event is believed',
    file: server('resources/audit/verify-batches.ts'),
    search: '  if (last.number > now.batch || !isEnd(before) || !isEnd(now)) return',
    replace: '  if (last.number < 0) return',
    tests: contract('sealed-audit'),
  },
  {
    title: 'an event in the range of a batch that does not list it is believed',
    file: server('resources/audit/verify-batches.ts'),
    search: "  return isLater ? missingFrom(progress) : { kind: 'inserted',",
    replace: "  if (!isLater) return null\n  return isLater ? missingFrom(progress) : { kind: 'inserted',",
    tests: contract('sealed-audit'),
  },
  {
    title: 'the digest of a batch is not covered by its seal',
    file: server('lib/audit-proof.ts'),
    search: '...(content === null ? [] : [content])]',
    replace: '...(content === null ? [] : [typeof content])]',
    tests: contract('sealed-audit'),
  },
  {
    title: 'an event is compared with a digest that leaves out a column',
    file: server('models/audit-event.ts'),
    search: "const usualColumns = storedColumns.filter((name) => !rareColumns.includes(name)).join(', ')",
    replace: "const usualColumns = storedColumns.filter((name) => !rareColumns.includes(name) && name !== 'ip').join(', ')",
    tests: contract('sealed-audit'),
  },
  {
    title: 'what an erasure lists is not compared with the events',
    file: server('models/audit-event.ts'),
    search: "case when erased_by is null and event <> 'audit.erased' then",
    replace: 'case when erased_by is null then',
    tests: contract('sealed-audit'),
  },
  {
    title: 'the chain of former versions grows beyond the events that were there',
    file: server('resources/audit/seal-former-events.ts'),
    search: ' || position >= chain.former_end)',
    replace: ')',
    tests: contract('sealed-audit'),
  },
  {
    title: 'a batch reaches up to transactions that its snapshot does not see',
    file: server('resources/audit/seal-events.ts'),
    search: 'const isInBatch = ({ xid }: SealableEvent) => sees(upto, xid) && sees(visible, xid)',
    replace: 'const isInBatch = ({ xid }: SealableEvent) => xid < upto.xmax',
    tests: contract('audit-servers'),
    database: 'postgres, many connections',
  },
  {
    title: 'a restored dump writes events at places that were used',
    file: server('resources/audit/lock-chain.ts'),
    search: '  if (missing <= 0) return\n',
    replace: '  if (missing !== 0) return\n',
    tests: contract('audit-servers'),
    database: 'postgres, many connections',
  },
  {
    title: 'a session ends on Postgres although its event is dropped',
    file: server('models/session.ts'),
    search: 'select 1 / (select count(*) from recorded) from ended',
    replace: 'select id from ended',
    tests: contract('sealed-audit'),
    database: 'postgres',
  },
  {
    title: 'a transaction that fails is committed',
    file: server('db/cheap-transactions.ts'),
    search: 'await rollBack(client, connection)',
    replace: 'await commit(client, connection)',
    tests: contract('sealed-audit'),
  },
  {
    title: 'an event that the database drops goes unnoticed',
    file: server('models/audit-event.ts'),
    search: 'isOne ? await oneEvent.run(db, first) :',
    replace: 'isOne ? (await oneEvent.run(db, first), 1) :',
    tests: contract('sealed-audit'),
  },
  {
    title: 'an end of the chain that the database drops goes unnoticed',
    file: server('models/audit-chain.ts'),
    search: 'if (stored !== 1)',
    replace: 'if (stored < 0)',
    tests: contract('sealed-audit'),
  },
  {
    title: 'a server does not miss the events that it sealed',
    file: server('workers/audit-sealer.ts'),
    search: '      known = isCutOff || position === 0 ? undefined : end\n',
    replace: '',
    tests: contract('sealed-audit'),
  },
]

const outbox: PlantedFault[] = [
  {
    title: 'a server that lost its lease completes the attempt all the same',
    file: server('models/outbox-message.ts'),
    search: "status: 'pending', next_attempt_at: message.next_attempt_at }",
    replace: "status: 'pending' }",
    tests: contract('outbox'),
  },
  {
    title: 'a redirect counts as delivered',
    file: server('workers/send-webhook.ts'),
    search: 'status >= 200 && status < 300',
    replace: 'status >= 200 && status < 400',
    tests: contract('webhook-delivery', 'webhook-targets'),
  },
]

export const plantedFaults: readonly PlantedFault[] = [...signIn, ...gate, ...sessions, ...revocations, ...audit, ...outbox]
