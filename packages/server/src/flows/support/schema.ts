import { z } from 'zod'
import { accessTokenClaims } from '../../lib/access-token.ts'
import { email, id, MAX_TEXT, optionalAppCode, readAs, timestamp } from '../../lib/fields.ts'
import { appRefRecord, organizationRecord, userRecord } from '../../lib/records.ts'

export const explainQuery = z
  .strictObject({
    email: email.optional().meta({ description: 'The address to sign in with. Give either this or `user_id`' }),
    user_id: id.optional().meta({ description: 'The user to sign in. Give either this or `email`' }),
    app: optionalAppCode.meta({
      description: 'UUID or code. If omitted, explains a login without an app',
      override: readAs({ type: 'string', maxLength: MAX_TEXT }),
    }),
    organization_id: id.optional().meta({ description: 'As in the login' }),
  })
  .superRefine((query, context) => {
    if (query.email === undefined && query.user_id === undefined)
      context.addIssue({ code: 'custom', path: ['email'], message: 'or user_id is required', params: { code: 'required' } })
    if (query.email !== undefined && query.user_id !== undefined)
      context.addIssue({ code: 'custom', path: ['user_id'], message: 'cannot be given together with email' })
  })
export type ExplainInput = z.output<typeof explainQuery>

const stepRecord = z.object({
  step: z.int().meta({ description: 'The number of the step in the contract, section 4.5' }),
  name: z.enum(['account_limit', 'app', 'user', 'account', 'password', 'two_factor', 'roles', 'access', 'tokens']),
  ok: z.boolean(),
  code: z.string().optional().meta({ description: 'The error code that this step answers with' }),
  detail: z.string().optional().meta({ description: 'What was found. For a refusal, also the command that fixes it' }),
})
export type Step = z.output<typeof stepRecord>

export const explanation = z
  .object({
    steps: z.array(stepRecord).meta({ description: 'The steps of a login, up to the one that refuses' }),
    further_refusals: z.array(stepRecord).meta({
      description:
        'The steps that would refuse after that one, each as if those before it were fixed. Ends at a refusal that nothing ' +
        'fixes, such as a missing user',
    }),
    outcome: z.string().meta({ description: '`granted`, or the code that a login with the right password would get' }),
    claims: accessTokenClaims
      .optional()
      .meta({ description: 'Claims of the access token that a login would give now. Its session does not exist' }),
    token_bytes: z.int().optional().meta({ description: 'The length of that token' }),
  })
  .meta({ id: 'Explanation' })
export type Explanation = z.output<typeof explanation>

const MAX_TOKEN = 16_384

export const traceTokenBody = z
  .strictObject({
    token: z.string().trim().min(1).max(MAX_TOKEN).meta({ format: 'password', description: 'The token that was found' }),
  })
  .meta({ id: 'TraceToken' })

const tracedSession = z.object({
  id,
  alive: z
    .boolean()
    .meta({ description: 'Whether the session is still live. A spent refresh token may belong to a session that is' }),
  app: appRefRecord.nullable(),
  organization: organizationRecord
    .nullable()
    .meta({ description: 'Null if there is none, or if the user is no longer a member' }),
  auth_method: z.string(),
  second_factor: z.enum(['shown', 'trusted']).nullable().meta({
    description: 'Whether a second factor or a passkey was shown in the session, or a trusted browser stood for one',
  }),
  refused_by_policy: z.enum(['two_factor_required', 'two_factor_enrollment_required']).nullable().meta({
    description:
      'What a refresh is answered because the app demands a second factor. Null if the session has shown what it demands',
  }),
  ip: z.string().nullable(),
  user_agent: z.string().nullable(),
  created_at: timestamp,
  last_used_at: timestamp,
  expires_at: timestamp,
})

const tracedAccount = z.object({
  id,
  name: z.string(),
  service: z.string(),
  scopes: z.array(z.string()),
  app_codes: z.array(z.string()),
  last_used_at: timestamp.nullable(),
})

export const tokenTrace = z
  .object({
    kind: z.enum(['access', 'refresh', 'machine', 'service_account', 'unknown']).meta({
      description: '`machine`: an access token of a service account for one app',
    }),
    state: z.enum(['live', 'expired', 'ended', 'spent', 'forged', 'unknown']).meta({
      description:
        '`live`: gives access now. `ended`: its session, account or right has ended. `spent`: a refresh token that was already ' +
        'used. `forged`: signed with the secret of this service, but never issued by it. `unknown`: not a token of this service',
    }),
    expires_at: timestamp.nullable(),
    user: userRecord.nullable().meta({ description: 'The user it belongs to' }),
    session: tracedSession.nullable(),
    service_account: tracedAccount.nullable(),
    roles: z.array(z.string()).meta({ description: 'Roles that a live token of a session has now' }),
    permissions: z.array(z.string()),
    administers: z.boolean().meta({ description: 'Whether the admin API accepts it now' }),
  })
  .meta({ id: 'TokenTrace' })
export type TokenTrace = z.output<typeof tokenTrace>
