import type { z } from 'zod'
import { iso } from '../../lib/timestamps.ts'
import type { SigningKeyRow } from '../../models/signing-key.ts'
import type { signingKeyList } from './schema.ts'

export function presentSigningKeys(rows: readonly SigningKeyRow[]): z.output<typeof signingKeyList> {
  const items = rows.map(({ id, stage, stage_since, created_at }) => ({
    kid: id,
    stage,
    since: iso(stage_since),
    created_at: iso(created_at),
  }))
  return { items, next_cursor: null }
}
