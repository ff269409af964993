import type { KeyObject } from 'node:crypto'
import type { Deps } from '../../deps.ts'
import { privateKeyOf, publicKeyOf } from '../../lib/rs256.ts'
import { SigningKey, type SigningKeyRow } from '../../models/signing-key.ts'

/** The keys of ID tokens, as they are kept in memory. */
export interface SigningKeys {
  rows: readonly SigningKeyRow[]
  /** The key that signs. Undefined until the first ones are made. Throws if it cannot be opened. */
  current(): { id: string; key: KeyObject } | undefined
  /** The public half of a key of any stage. */
  find(id: string): KeyObject | undefined
}

/** The context that binds the sealed half of a key. */
export function signingKeyContext(id: string): string {
  return `signing_keys ${id}`
}

export async function readSigningKeys(deps: Deps): Promise<SigningKeys> {
  const rows = await SigningKey.listAll(deps.db)
  const signing = rows.find(({ stage }) => stage === 'current')
  const publicKeys = new Map<string, KeyObject>()
  let opened: { id: string; key: KeyObject } | undefined
  return {
    rows,
    current() {
      if (!opened && signing?.private_box)
        opened = { id: signing.id, key: privateKeyOf(deps.secretBox.open(signing.private_box, signingKeyContext(signing.id))) }
      return opened
    },
    find(id) {
      const known = publicKeys.get(id)
      const row = known ? undefined : rows.find((each) => each.id === id)
      if (!row) return known
      const key = publicKeyOf(JSON.parse(row.public_jwk))
      publicKeys.set(id, key)
      return key
    },
  }
}
