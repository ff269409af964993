import { z } from 'zod'
import { email, optionalAppCode, optionalField, pathParameters, text } from '../../lib/fields.ts'
import { languages } from '../../lib/locale.ts'
import { sampleMails } from '../../mail/samples.ts'

/** A request for a mail to an address, through an app. */
export const mailRequestBody = z
  .object({
    email,
    app_code: optionalAppCode,
    redirect_url: optionalField(text).meta({
      description: 'Passed on in the link. One of the `allowed_redirect_urls` of the app',
    }),
  })
  .meta({ id: 'MailRequest' })
export type MailRequest = z.output<typeof mailRequestBody>

export const previewParams = z.object({
  appId: pathParameters.appId,
  mail: z.string().meta({ description: `One of ${sampleMails.join(', ')}` }),
})
export const previewQuery = z.strictObject({ language: z.enum(languages).optional() })

export const mailPreview = z
  .object({
    from: z.string().meta({ description: 'The name of the sender' }).nullable(),
    reply_to: z.string().nullable(),
    subject: z.string(),
    text: z.string(),
    html: z.string().meta({ description: 'The logo is a data URL here' }),
  })
  .meta({ id: 'MailPreview' })

export const testMailBody = z.strictObject({ to: email, language: z.enum(languages).optional() }).meta({ id: 'TestMail' })

export const testMailOutcome = z
  .object({
    accepted: z.boolean().meta({ description: 'Whether the mail server has accepted it' }),
    status: z.int().nullable().meta({ description: 'The reply code of the mail server, if it refused' }),
    error: z.string().nullable(),
  })
  .meta({ id: 'TestMailOutcome' })

export const queued = z.object({})
