import { z } from 'zod'

export const healthRecord = z.object({ status: z.literal('ok'), version: z.string() }).meta({ id: 'Health' })
export type Health = z.output<typeof healthRecord>

const check = z.object({ ok: z.boolean(), detail: z.string().nullable() })

export const readyRecord = z
  .object({
    status: z.enum(['ready', 'not_ready']),
    checks: z.object({ accepting: check, database: check, writes: check, migrations: check }),
  })
  .meta({ id: 'Ready' })
export type Readiness = z.output<typeof readyRecord>

export const settingsRecord = z
  .object({
    production: z.boolean().meta({ description: 'Production mode' }),
    public_url: z.string().meta({ description: 'PUBLIC_URL' }),
    client_overrides: z.enum(['open', 'declared']).meta({ description: 'AUTH_CLIENT_OVERRIDES' }),
    passkeys_elsewhere: z
      .int()
      .meta({ description: 'How many passkeys belong to another host than that of PUBLIC_URL. They do not work' }),
    finds_inside: z.boolean().meta({
      description: 'Whether a search (`q`) finds a text inside a name. False on a Postgres without the extension `pg_trgm`',
    }),
    admin_app_codes: z.array(z.string()).meta({ description: 'AUTH_ADMIN_APP_CODES; `*` means every app' }),
  })
  .meta({ id: 'Settings' })
