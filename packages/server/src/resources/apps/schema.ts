import { z } from 'zod'
import { brandRecord, cards, isVisibleAccent, nearestAccent } from '../../lib/brand.ts'
import {
  authMethodCode,
  clearable,
  email,
  emailDomainRule,
  id,
  list,
  MAX_LIST,
  MAX_TRUST_DAYS,
  name,
  newAppCode,
  page,
  pageQuery,
  pool,
  queryFlag,
  redirectRule,
  roleCode,
  searchQuery,
  stableCode,
  text,
  timestamp,
  webUrl,
} from '../../lib/fields.ts'
import { languages } from '../../lib/locale.ts'
import { isWebPort } from '../../lib/public-address.ts'
import { collisionWarning, tokenSizeWarning } from '../../lib/records.ts'
import { webhookKey } from '../../lib/webhook.ts'

const appStatus = z.enum(['active', 'inactive'])
const permissionScope = z.enum(['services', 'roles'])
const signing = z
  .enum(['shared', 'own'])
  .meta({ description: "Whether the tokens are signed with the shared secret or with the app's own secret" })
const client = z.enum(['public', 'confidential']).meta({
  description:
    'Whether the app authenticates with a client secret at `/oauth/token`. Tokens of a confidential app are for its backend alone: this API gives none out, and refuses them',
})
const requireTwoFactor = z.enum(['off', 'admins', 'everyone'])
const signUp = z.enum(['open', 'invitation', 'closed'])
const webhookEvent = z.enum(['user.registered'])
const webhookSecret = z.string().regex(/^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/, 'must be whsec_ and 24 to 64 bytes in base64')

const webhookUrl = webUrl.refine((raw) => isWebPort(URL.parse(raw)?.port ?? ''), 'must not have the port of another protocol')

const brandUrl = webUrl.refine((raw) => !/^http:/i.test(raw), 'must be an https URL')

const accentColor = z
  .string()
  .regex(/^#[0-9a-f]{6}$/i, 'must be a color such as #2f6fde')
  .transform((color) => color.toLowerCase())
  .superRefine((color, context) => {
    if (/^#[0-9a-f]{6}$/.test(color) && !isVisibleAccent(color))
      context.addIssue({
        code: 'custom',
        message: `must contrast with ${cards.light} and ${cards.dark} at 3:1 or more; the nearest color that does is ${nearestAccent(color)}`,
      })
  })

/** A control, zero-width or bidirectional character could make the sender look like another. */
const fromName = name
  .max(80)
  .refine(
    (text) => !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u.test(text),
    'must not contain control or bidirectional characters',
  )
  .refine((text) => !/[@<>"]|=\?/.test(text), 'must not contain @, <, >, " or =?')

const brandInput = z.strictObject({
  accent_color: clearable(accentColor).meta({
    description: 'The color of buttons, as `#rrggbb`. Contrasts with the light and the dark card at 3:1 or more',
  }),
  support_email: clearable(email).meta({ description: 'Where people get help. Mails have it as `Reply-To`' }),
  support_url: clearable(brandUrl),
  terms_url: clearable(brandUrl),
  privacy_url: clearable(brandUrl),
  from_name: clearable(fromName).meta({ description: 'The sender that mails show. Default: the name of the app' }),
  default_language: clearable(z.enum(languages)).meta({
    description: 'The language of pages and mails for people of whom no other is known',
  }),
})

const webhookInput = z.strictObject({
  name,
  url: webhookUrl,
  events: z.array(webhookEvent).max(10).default(['user.registered']),
  enabled: z.boolean().default(true),
  secret: clearable(webhookSecret).meta({
    description: 'Signs deliveries. Write-only. If omitted, the webhook of that name and URL keeps its secret',
  }),
  has_secret: z.unknown().optional().meta({ description: 'Ignored. Accepted so that you can write back what you read' }),
})

const webhooksInput = list(webhookInput).superRefine((webhooks, context) => {
  const known = new Set<string>()
  webhooks.forEach((webhook, index) => {
    if (known.has(webhookKey(webhook)))
      context.addIssue({ code: 'custom', path: [index, 'url'], message: 'is the URL of another webhook of this name' })
    known.add(webhookKey(webhook))
  })
})

function clearableList<T extends z.ZodType>(entry: T) {
  return clearable(list(entry))
}

const settings = {
  description: clearable(text),
  // Cannot be cleared: an app always has a status, and clearing it must not bring back an app that was deactivated.
  status: appStatus.optional(),
  allowed_redirect_urls: clearableList(redirectRule).meta({
    description: 'Compared as raw strings; a final * allows a prefix, but not at the sign-in page',
  }),
  service_codes: clearableList(stableCode).meta({
    description: 'Services whose permissions the tokens carry. Default: the app code',
  }),
  auto_grant_on_signup: clearable(z.boolean()),
  auto_grant_follows_policy: clearable(z.boolean()).meta({
    description:
      'Whether `sign_up` and `allowed_email_domains` also decide which existing users `auto_grant_on_signup` lets in. ' +
      'Default: false',
  }),
  registration_namespace: clearable(pool).meta({ description: 'Home pool of new users. Default: `default`' }),
  read_namespaces: clearableList(pool).meta({ description: 'Further pools whose users may sign in' }),
  default_organization_id: clearable(id),
  default_role_code: clearable(roleCode),
  linked_app_codes: clearableList(stableCode),
  override_role_codes: clearableList(roleCode),
  frontend_url: clearable(webUrl),
  allowed_email_domains: clearableList(emailDomainRule),
  allowed_auth_methods: clearableList(authMethodCode).meta({
    description:
      'Ways to register, or to link a login, through this app: `password`, `magic_link`, `email_code`, `passkey`, `google`, or the code of a provider. ' +
      'At least one must be able to register a user, which `magic_link`, `email_code` and `passkey` are not. Existing users can sign in by any method',
  }),
  webhooks: clearable(webhooksInput),
  permission_scope: clearable(permissionScope),
  sign_up: clearable(signUp),
  organization_sign_up: clearable(z.boolean()).meta({
    description: 'Whether a registration may create an organization with `organization_name`. Default: true',
  }),
  require_verified_email: clearable(z.boolean()).meta({
    description: 'Whether only users who have proven that they read the mail of their address get tokens',
  }),
  machine_tokens: clearable(z.boolean()).meta({
    description: 'Whether service accounts with the scope `tokens:issue` may get tokens for the app. Default: false',
  }),
  single_sign_on: clearable(z.boolean()).meta({
    description: 'Whether people who are signed in at this service in a browser enter the app without a page. Default: true',
  }),
  max_sign_in_age_seconds: clearable(z.int().min(0).max(31_536_000)).meta({
    description:
      'How long ago a person may have signed in to enter through a browser. A refresh is not affected. Default: no limit',
  }),
  trust_device_days: clearable(z.int().min(0).max(MAX_TRUST_DAYS)).meta({
    description:
      'For how many days the second factor is not asked for again in a browser whose user chose so. Default: 0, it is always asked for',
  }),
  client: clearable(client),
  device_grant: clearable(z.boolean()).meta({
    description: 'Whether a device without a browser may sign people in who allow it at `/device` (RFC 8628). Default: false',
  }),
  require_two_factor: clearable(requireTwoFactor).meta({
    description:
      'Whose sign-in must have shown a second factor or a passkey: `admins` are users with a global role besides `base_user`. ' +
      'Users who own none set one up on the sign-in page. Sessions without one end at their next refresh. Default: `off`',
  }),
  require_two_factor_from: clearable(z.iso.datetime({ offset: true }).transform((moment) => Date.parse(moment))).meta({
    description:
      'From when on it is required, so that it can be announced. What was shown before that does not count. Default: at once',
  }),
  brand: clearable(brandInput).meta({
    description: 'What the pages and mails of the app show. Members that are not given stay unchanged',
  }),
}

const createdSigning = z.literal('shared').optional().meta({
  description: 'Accepted so that you can write back what you read. Change it with POST /admin/apps/{appId}/signing',
})

const createdLogo = z.string().nullish().meta({ description: 'Ignored. Accepted so that you can write back what you read' })

export const createAppBody = z
  .strictObject({ code: newAppCode, name, ...settings, signing: createdSigning, logo_path: createdLogo })
  .meta({ id: 'CreateApp' })

export const updateAppBody = z
  .strictObject({
    name: name.optional(),
    ...settings,
  })
  .meta({ id: 'UpdateApp' })

export type CreateAppInput = z.output<typeof createAppBody>
export type AppInput = Partial<Omit<CreateAppInput, 'code'>>
export type UpdateAppInput = z.output<typeof updateAppBody>

export const listAppsQuery = z.strictObject({ ...pageQuery, status: appStatus.optional(), q: searchQuery })

export const deleteAppQuery = z.strictObject({ force: queryFlag.optional() })

export const appRecord = z
  .object({
    id,
    code: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    status: appStatus,
    allowed_redirect_urls: z.array(z.string()).max(MAX_LIST),
    service_codes: z.array(z.string()),
    auto_grant_on_signup: z.boolean(),
    auto_grant_follows_policy: z.boolean(),
    registration_namespace: z.string(),
    read_namespaces: z.array(z.string()),
    default_organization_id: id.nullable(),
    default_role_code: z.string().nullable(),
    linked_app_codes: z.array(z.string()),
    override_role_codes: z.array(z.string()),
    frontend_url: z.string().nullable(),
    allowed_email_domains: z.array(z.string()),
    allowed_auth_methods: z.array(z.string()),
    webhooks: z.array(
      z.object({
        name: z.string(),
        url: z.string(),
        events: z.array(webhookEvent),
        enabled: z.boolean(),
        has_secret: z.boolean(),
      }),
    ),
    permission_scope: permissionScope,
    signing,
    sign_up: signUp,
    organization_sign_up: z.boolean(),
    require_verified_email: z.boolean(),
    machine_tokens: z.boolean(),
    single_sign_on: z.boolean(),
    max_sign_in_age_seconds: z.int().nullable(),
    trust_device_days: z.int(),
    client,
    device_grant: z.boolean(),
    require_two_factor: requireTwoFactor,
    require_two_factor_from: timestamp.nullable(),
    brand: brandRecord,
    logo_path: z.string().nullable().meta({
      description: 'Where the logo is served, below the address of the service. Changed with PUT /admin/apps/{appId}/logo',
    }),
    built_in: z.boolean(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'App' })

export const appPage = page(appRecord)

export const lostSecretWarning = z.object({
  code: z.literal('webhook_secret_lost'),
  webhook: z.string().meta({ description: 'Name of the webhook, whose new name or URL the stored secret does not belong to' }),
  message: z.string(),
})

export const prefixesWarning = z.object({ code: z.literal('redirect_urls_prefixes_only'), message: z.string() })

export const bypassWarning = z.object({
  code: z.literal('policy_bypassed'),
  app: z.string().meta({ description: 'Code of an app that grants access automatically and restricts who may register' }),
  through: z
    .array(z.string())
    .meta({ description: 'Apps of its pools, 20 at most, through which users register whom it would not take, and then admits' }),
  message: z.string(),
})

/** The answer to creating or changing an app. */
export const updatedApp = appRecord
  .extend({
    warnings: z
      .array(z.union([collisionWarning, tokenSizeWarning, lostSecretWarning, prefixesWarning, bypassWarning]))
      .optional()
      .meta({ description: 'Omitted if there are none' }),
  })
  .meta({ id: 'UpdatedApp' })

/** The answer that shows a single app. */
export const shownApp = appRecord
  .extend({
    warnings: z
      .array(z.union([tokenSizeWarning, bypassWarning]))
      .optional()
      .meta({ description: 'Omitted if there are none' }),
  })
  .meta({ id: 'ShownApp' })

export const changeSigningBody = z
  .strictObject({
    step: z.enum(['prepare', 'switch', 'finish', 'abort']).meta({
      description:
        '`prepare` accepts a new key as well, `switch` signs with it, `finish` drops the old one, `abort` undoes the last ' +
        '`prepare` or `switch`',
    }),
    key: z
      .enum(['own', 'shared'])
      .default('own')
      .meta({ description: 'For `prepare`: a new key of the app, or the shared secret' }),
  })
  .meta({ id: 'ChangeSigning' })
export type ChangeSigningInput = z.output<typeof changeSigningBody>

export const changeSigningQuery = z.strictObject({ force: queryFlag.optional() })

const signingKey = z.object({
  kid: z.string(),
  stage: z.enum(['current', 'next', 'previous']).meta({ description: 'The current key signs. The others are accepted as well' }),
  source: z.enum(['own', 'shared']),
  since: timestamp
    .nullable()
    .meta({ description: 'When the key entered this stage. Null for the shared secret of an app that never had another key' }),
})

/** Describes the keys of an app. Never contains the keys themselves. */
export const signingRecord = z
  .object({
    app_code: z.string(),
    signing,
    state: z.enum(['settled', 'prepared', 'switched']),
    keys: z.array(signingKey),
    consumers_behind: z
      .object({
        seen_at: timestamp.meta({ description: 'When a consumer that does not accept the newest key was last seen' }),
        accepting_seen_at: timestamp.nullable().meta({ description: 'When a consumer that accepts it was last seen' }),
      })
      .nullable()
      .meta({ description: 'During a change: null if every recently seen consumer accepts the newest key' }),
    old_tokens_until: timestamp.nullable().meta({ description: 'After `switch`: when the last token of the old key expires' }),
  })
  .meta({ id: 'Signing' })

/** The largest logo, in bytes and in pixels a side. */
export const mostLogoBytes = 256 * 1024
