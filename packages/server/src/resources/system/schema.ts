import { z } from 'zod'
import { timestamp } from '../../lib/fields.ts'

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

export const serverRecord = z
  .object({
    id: z.string().meta({ description: 'Names the machine and the process' }),
    version: z.string(),
    started_at: timestamp,
    seen_at: timestamp,
    clock_offset_ms: z.int().meta({ description: "How far its clock is ahead of the database's" }),
    kids: z.array(z.string()).meta({ description: 'The ids of the shared secrets that it accepts. The first one signs' }),
    encryption_key_ok: z.boolean().meta({ description: 'Whether it can decrypt what the other servers encrypt' }),
  })
  .meta({ id: 'Server' })
export const serverList = z.object({ items: z.array(serverRecord) }).meta({ id: 'Servers' })

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
