import { z } from 'zod'
import {
  email,
  locale,
  MAX_NAME,
  optionalAppCode,
  optionalDeviceToken,
  optionalField,
  optionalTwoFactorCode,
  overrideFields,
  password,
  text,
} from '../../lib/fields.ts'
import { appRefRecord, organizationRecord, tokenMembers, userRecord } from '../../lib/records.ts'

const optionalName = optionalField(z.string().trim().max(MAX_NAME))
const optionalText = optionalField(text)

/** Unknown members are accepted and passed on to the webhooks. */
export const registerBody = z
  .looseObject({
    email,
    password: password.meta({ description: 'At least 8 characters, at most 1,024 bytes' }),
    first_name: optionalName,
    last_name: optionalName,
    locale: optionalField(locale).meta({
      description: 'The language that the user reads: a BCP 47 tag. Default: by `Accept-Language`, if we write mails in it',
    }),
    app_code: optionalAppCode,
    mode: optionalField(z.enum(['register', 'register_or_login', 'register_or_return']))
      .transform((mode) => mode ?? 'register')
      .meta({ description: 'Default: `register`' }),
    invite_code: optionalText,
    invite_token: optionalText,
    organization_name: optionalName,
    two_factor_code: optionalTwoFactorCode.meta({ description: 'Only used if `register_or_login` finds an existing user' }),
    device_token: optionalDeviceToken,
    ...overrideFields,
  })
  .meta({ id: 'Register' })
export type RegisterInput = z.output<typeof registerBody>

/** The answer of a registration. It has tokens only with `access: "granted"`, and never for `register_or_return`. */
export const registrationAnswer = z
  .object({
    created: z.boolean(),
    user: userRecord,
    app: appRefRecord,
    access: z.enum(['granted', 'pending', 'unverified', 'unenrolled']).meta({
      description:
        '`pending` waits for an admin. `unverified` waits for the user to verify the address, and `unenrolled` for the user to set up ' +
        'a second factor, which this app requires',
    }),
    organization: organizationRecord.nullable(),
    enrollment_url: z.string().optional().meta({ description: 'With `unenrolled`: the page where the user does that' }),
    ...z.object(tokenMembers).partial().shape,
  })
  .meta({ id: 'Registration' })
export type RegistrationAnswer = z.output<typeof registrationAnswer>
