// What a transaction promises, for any statements in it.
import { expect, test } from 'vitest'
import { asTx, type Tx } from '../../packages/server/src/db/handle.ts'
import { Statement } from '../../packages/server/src/db/statement.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { testDatabase } from '../support/service.ts'

const shared = serviceFixture()
const insert = new Statement('insert into notes (id, text) values (:id, :text)')

async function withNotes(run: (texts: () => Promise<string[]>) => Promise<void>): Promise<void> {
  const { db } = shared.deps
  await db.raw('create table notes (id integer primary key, text text not null)')
  await db.raw('create table answers (note integer references notes (id) deferrable initially deferred)')
  try {
    await run(() => db('notes').orderBy('id').pluck('text'))
  } finally {
    await db.raw('drop table answers')
    await db.raw('drop table notes')
  }
}

test('a transaction that throws leaves nothing, and its connection is free again', () =>
  withNotes(async (texts) => {
    const { db } = shared.deps
    for (let round = 0; round < 20; round += 1) {
      const broken = db.transaction(async (trx) => {
        await insert.run(asTx(trx), { id: 1, text: 'prepared' })
        await trx('notes').insert({ id: 2, text: 'composed' })
        throw new Error('broken')
      })
      await expect(broken).rejects.toThrow('broken')
    }
    expect(await texts()).toEqual([])
    await db.transaction(async (trx) => {
      await insert.run(asTx(trx), { id: 1, text: 'prepared' })
      await trx('notes').insert({ id: 2, text: 'composed' })
    })
    expect(await texts()).toEqual(['prepared', 'composed'])
  }))

test('a transaction whose commit fails leaves nothing, and its connection is free again', () =>
  withNotes(async (texts) => {
    const { db } = shared.deps
    for (let round = 0; round < 20; round += 1) {
      const broken = db.transaction(async (trx) => {
        await insert.run(asTx(trx), { id: 1, text: 'lost' })
        await trx('answers').insert({ note: 7 })
      })
      await expect(broken).rejects.toThrow(/foreign key/i)
    }
    expect(await texts()).toEqual([])
    await db.transaction((trx) => insert.run(asTx(trx), { id: 1, text: 'kept' }))
    expect(await texts()).toEqual(['kept'])
  }))

test('a statement after the end of its transaction is refused', () =>
  withNotes(async (texts) => {
    let ended: Tx | undefined
    await shared.deps.db.transaction(async (trx) => {
      ended = asTx(trx)
      await trx('notes').insert({ id: 1, text: 'inside' })
    })
    await expect(insert.run(ended!, { id: 2, text: 'late' })).rejects.toThrow('the transaction has ended')
    await expect(ended!('notes').insert({ id: 2, text: 'late' })).rejects.toThrow('the transaction has ended')
    expect(await texts()).toEqual(['inside'])
  }))

test('a transaction with a failed statement does not seem to be committed', () =>
  withNotes(async (texts) => {
    const careless = shared.deps.db.transaction(async (trx) => {
      await insert.run(asTx(trx), { id: 1, text: 'lost on Postgres' })
      await insert.run(asTx(trx), { id: 1, text: 'the same again' }).catch(() => {})
    })
    // SQLite undoes the statement alone, Postgres the whole transaction.
    if (testDatabase() === 'sqlite') await careless
    else await expect(careless).rejects.toThrow('the database rolled the transaction back')
    expect(await texts()).toEqual(testDatabase() === 'sqlite' ? ['lost on Postgres'] : [])
  }))
