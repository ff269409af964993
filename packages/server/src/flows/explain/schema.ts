import { z } from 'zod'
import type { AccessTokenClaims } from '../../lib/access-token.ts'
import { optionalAppCode } from '../../lib/entry-fields.ts'
import { email, id, MAX_TEXT, readAs } from '../../lib/fields.ts'

export const explainQuery = z
  .strictObject({
    email: email.optional().meta({ description: 'The address to log in with. Give either this or `user_id`' }),
    user_id: id.optional().meta({ description: 'The user to log in. Give either this or `email`' }),
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

const claimsRecord = z.object({
  app_id: id.optional(),
  app_code: z.string().optional(),
  uid: id,
  sub: id.optional(),
  email: z.string(),
  email_verified: z.boolean(),
  first_name: z.string().nullable(),
  last_name: z.string().nullable(),
  org_id: id.optional(),
  org_slug: z.string().optional(),
  namespace: z.string().optional(),
  tv: z.int(),
  sid: id,
  auth_time: z.int().optional(),
  amr: z.array(z.string()).optional(),
  iss: z.string(),
  aud: z.string(),
  exp: z.int(),
  nbf: z.int(),
  iat: z.int(),
  jti: id,
  roles: z.array(z.string()),
  permissions: z.array(z.string()),
}) satisfies z.ZodType<AccessTokenClaims>

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
    claims: claimsRecord
      .optional()
      .meta({ description: 'Claims of the access token that a login would give now. Its session does not exist' }),
    token_bytes: z.int().optional().meta({ description: 'The length of that token' }),
  })
  .meta({ id: 'Explanation' })
export type Explanation = z.output<typeof explanation>
