import { z } from 'zod'
import { optionalAppCode, optionalField } from '../../lib/entry-fields.ts'
import { email, text } from '../../lib/fields.ts'

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

export const queued = z.object({})
