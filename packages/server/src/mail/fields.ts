import { z } from 'zod'

/** The token of a link in a mail. Any text: what none of ours is, is invalid like all others. */
export const mailToken = z.string().meta({ description: 'The `token` of the link in the mail' })
