import { z } from 'zod'

/** RFC 7662 allows further parameters. */
export const introspectBody = z
  .object({
    token: z.string().meta({ description: 'The access token to check' }),
    token_type_hint: z.string().optional().meta({ description: 'Not needed' }),
    client_id: z.string().optional().meta({ description: 'Not needed' }),
    client_secret: z.string().optional().meta({
      format: 'password',
      description: 'The token of a service account, in place of an `Authorization` header (`client_secret_post`)',
    }),
  })
  .meta({ id: 'Introspect' })

/** An active token has all its claims here. For an inactive one, `active` is the only member. */
export const introspection = z
  .looseObject({
    active: z.boolean(),
    token_type: z.literal('Bearer').optional(),
    client_id: z.string().optional().meta({ description: 'Code of the app' }),
    sub: z.string().optional().meta({ description: 'The user; the same as `uid`' }),
    username: z.string().optional().meta({ description: 'The same as `email`' }),
    scope: z.string().optional().meta({ description: '`permissions`, separated by spaces' }),
    exp: z.int().optional(),
  })
  .meta({ id: 'Introspection' })
