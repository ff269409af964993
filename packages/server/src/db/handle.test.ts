import { expect, test } from 'vitest'
import type { Deps } from '../deps.ts'
import { User } from '../models/user.ts'
import { addToOutbox } from '../resources/outbox/outbox.ts'
import type { Pool } from './handle.ts'
import { notify } from './listen.ts'
import { forUpdate, lockUntilCommit } from './locks.ts'
import { transaction } from './transaction.ts'

/** Never called, only compiled. */
async function refused(deps: Deps<Pool>, perhapsInside: Deps) {
  // @ts-expect-error written outside of the transaction of what it tells about
  await addToOutbox(deps, [])
  // @ts-expect-error a lock that would end at once
  await lockUntilCommit(deps.db, 'email', 'ada@example.com')
  // @ts-expect-error the same for a row
  await forUpdate(deps.db, User.query(deps.db))
  // @ts-expect-error a notice in a transaction, which would hold a lock until the commit
  await transaction(deps, ({ db }) => notify(db, 'gatehouse_revocations', 'new'))
  // @ts-expect-error a revocation that nothing would write
  deps.revocations.note({ appId: 'id', minIat: 0 })
  // @ts-expect-error the same
  perhapsInside.revocations.note({ appId: 'id', minIat: 0 })
  // @ts-expect-error might join a transaction
  await transaction(perhapsInside, async () => {})
  // @ts-expect-error joins one
  await transaction(deps, (deps) => transaction(deps, async () => {}))
  // @ts-expect-error a query without a handle
  await User.query()
}

test('writes and locks outside a transaction, nested transactions and queries without a handle do not compile', () => {
  expect(refused).toBeTypeOf('function')
})
