import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, type ErrorCode, wordOf } from '../../errors.ts'
import type { AccessTokenClaims } from '../../lib/access-token.ts'
import type { RequestOrigin } from '../../lib/caller.ts'
import { secondFactorKey } from '../../lib/lock-keys.ts'
import { assertNotLocked } from '../../resources/lockouts/lockouts.ts'
import { deleteSecondFactor } from '../../resources/second-factors/second-factors.ts'
import { logInWith } from '../sign-in/login.ts'
import { describePassed, describeRefusal, type GivenToken } from './describe.ts'
import {
  demandNoSecondFactor,
  type Entitlements,
  getLoginCase,
  type LoginCase,
  listEntitlements,
  mend,
  rehearse,
} from './login-case.ts'
import type { ExplainInput, Explanation, Step } from './schema.ts'

/** The steps that an explanation tells, in order. A login judges the status of the account only at the gate, after the password. */
const stepNames = ['account_limit', 'app', 'user', 'account', 'password', 'two_factor', 'roles', 'access', 'tokens'] as const

/** The step that answers with each code. `invalid_credentials` is not here because two steps answer with it. */
const refusingStep: Partial<Record<ErrorCode, Step['name']>> = {
  rate_limited: 'account_limit',
  app_code_required: 'app',
  app_not_found: 'app',
  app_inactive: 'app',
  account_locked: 'account',
  account_suspended: 'account',
  email_unverified: 'account',
  second_factor_not_shown: 'two_factor',
  two_factor_enrollment_required: 'two_factor',
  organization_membership_required: 'roles',
  app_access_denied: 'access',
}

const nothingElse = { two_factor_code: undefined, device_token: undefined, role_code: undefined, linked_app_codes: undefined }

/** A step that refuses, and what it answers. */
interface RefusedStep {
  at: Step['name']
  error: ApiError
}

interface LoginOutcome {
  refusal?: RefusedStep
  token?: GivenToken
}

interface Rehearsed {
  loginCase: LoginCase
  loginOutcome: LoginOutcome
  entitlements: { before: Entitlements; after: Entitlements }
}

/**
 * What a login would answer, step by step. Runs the login itself on the current database, in a transaction that is rolled back.
 * So an explanation cannot differ from the login, and it leaves nothing behind. Throws `not_found` for an unknown `user_id`.
 */
export async function explain(deps: Deps<Pool>, input: ExplainInput, origin: RequestOrigin): Promise<Explanation> {
  return rehearse(deps, async (deps) => {
    const first = await rehearseLogin(deps, input, origin)
    const { refusal, token } = first.loginOutcome
    return {
      steps: stepsOf(deps, first),
      further_refusals: await listFurtherRefusals(deps, input, first, origin),
      outcome: refusal ? wordOf(refusal.error.code) : 'granted',
      ...(token ? { claims: token.claims, token_bytes: token.bytes } : {}),
    }
  })
}

async function rehearseLogin(deps: Deps<Pool>, input: ExplainInput, origin: RequestOrigin): Promise<Rehearsed> {
  return rehearse(deps, async (deps) => {
    const loginCase = await getLoginCase(deps, input)
    const before = await listEntitlements(deps, loginCase.user?.id)
    const loginOutcome = await tryLogin(deps, loginCase, origin)
    return { loginCase, loginOutcome, entitlements: { before, after: await listEntitlements(deps, loginCase.user?.id) } }
  })
}

/**
 * Mends each refusal and rehearses the login again, as long as that leads to a new refusal. Needs a rehearsal, which rolls it
 * back.
 */
async function listFurtherRefusals(
  deps: Deps<Pool>,
  input: ExplainInput,
  first: Rehearsed,
  origin: RequestOrigin,
): Promise<Step[]> {
  const found: Step[] = []
  const met = new Set<string>()
  let mended: Deps<Pool> | undefined = deps
  let { loginCase, loginOutcome, entitlements } = first
  while (loginOutcome.refusal) {
    const { at, error } = loginOutcome.refusal
    // Mending did not help, for example because another user with this address keeps it locked.
    if (met.has(`${at} ${error.code}`)) break
    met.add(`${at} ${error.code}`)
    if (met.size > 1) found.push(refusedStep(deps, loginCase, loginOutcome.refusal, entitlements.before))
    mended = await mend(mended, loginCase, loginOutcome.refusal)
    if (!mended) break
    ;({ loginCase, loginOutcome, entitlements } = await rehearseLogin(mended, input, origin))
  }
  return found
}

async function tryLogin(deps: Deps<Pool>, loginCase: LoginCase, origin: RequestOrigin): Promise<LoginOutcome> {
  const { email, appCode, organizationId, user, found } = loginCase
  // A user with a second factor is assumed to send a valid code, but is refused while codes are locked.
  const refusedCode = found && loginCase.hasTwoFactor ? await refusalOfCodes(deps, found.id) : undefined
  if (found) await transaction(deps, (deps) => deleteSecondFactor(deps, found.id))
  // The code that is assumed meets what the app demands.
  if (loginCase.hasTwoFactor) await transaction(deps, (deps) => demandNoSecondFactor(deps, loginCase.app))
  // As at the token endpoint, where the users of a confidential app get in.
  const client = { code: appCode ?? '', hasShownSecret: true }
  const loginOutcome = await logInWith(
    deps,
    { ...nothingElse, email, password: 'the right one', app_code: appCode, organization_id: organizationId },
    { client },
    { caller: undefined, origin },
  ).then(
    ({ tokens: { access_token } }): LoginOutcome => ({
      token: { claims: claimsIn(access_token), bytes: Buffer.byteLength(access_token) },
    }),
    refused,
  )
  // The login finds another user with that address, so the password of the named user would be wrong.
  const isOfAnother = user !== undefined && found?.id !== user.id
  const isBeforeUser = loginOutcome.refusal && stepNames.indexOf(loginOutcome.refusal.at) < stepNames.indexOf('user')
  if (isOfAnother && !isBeforeUser) return { refusal: { at: 'user', error: new ApiError('invalid_credentials') } }
  return refusedCode && !isBeforeCode(loginOutcome.refusal) ? { refusal: { at: 'two_factor', error: refusedCode } } : loginOutcome

  function refused(error: unknown): LoginOutcome {
    if (!(error instanceof ApiError)) throw error
    const at = error.code === 'invalid_credentials' ? (found ? 'password' : 'user') : refusingStep[error.code]
    if (at === undefined) throw error
    return { refusal: { at, error } }
  }
}

/** Whether a login answers with this refusal before it asks for a code. The gate refuses a suspended user, and comes after that. */
function isBeforeCode(refusal: RefusedStep | undefined): boolean {
  if (!refusal || refusal.error.code === 'account_suspended') return false
  return stepNames.indexOf(refusal.at) < stepNames.indexOf('two_factor')
}

async function refusalOfCodes(deps: Deps, userId: string): Promise<ApiError | undefined> {
  try {
    await assertNotLocked(deps, [secondFactorKey(userId)])
    return undefined
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
}

function claimsIn(accessToken: string): AccessTokenClaims {
  const [, payload = ''] = accessToken.split('.')
  return JSON.parse(Buffer.from(payload, 'base64url').toString())
}

function stepsOf(deps: Deps, { loginCase, loginOutcome: { refusal, token }, entitlements }: Rehearsed): Step[] {
  const last = refusal ? stepNames.indexOf(refusal.at) : stepNames.length - 1
  return stepNames.slice(0, last + 1).map((name, index): Step => {
    const refuse = (error: ApiError) => refusedStep(deps, loginCase, { at: name, error }, entitlements.before)
    if (name === refusal?.at) return refuse(refusal.error)
    // An address that no user has can be locked like any other. The login then answers with the lock.
    if (name === 'user' && !loginCase.found) return refuse(new ApiError('invalid_credentials'))
    return {
      step: index + 1,
      name,
      ok: true,
      ...describePassed(name, loginCase, { ...entitlements, token }),
    }
  })
}

function refusedStep(deps: Deps, loginCase: LoginCase, { at, error }: RefusedStep, entitlements: Entitlements): Step {
  const detail = describeRefusal(loginCase, error, entitlements, deps.clock())
  return { step: stepNames.indexOf(at) + 1, name: at, ok: false, code: wordOf(error.code), detail }
}
