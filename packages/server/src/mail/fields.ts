import { z } from 'zod'

/** The token of a link in a mail. Takes any text: an unknown token and a malformed one get the same answer. */
export const mailToken = z.string().meta({ description: 'The `token` of the link in the mail' })
