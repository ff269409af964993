import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { asTx, type Pool } from './handle.ts'
import { createKnex } from './knex.ts'
import { Statement } from './statement.ts'

const insert = new Statement('insert into notes (text) values (:text)')
const list = new Statement<{ text: string }>('select text from notes order by text')

async function openNotes(): Promise<Pool> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-statement-'))
  const db = createKnex({ databaseUrl: `sqlite:${join(folder, 'notes.db')}`, dbPoolMax: 1 })
  onTestFinished(async () => {
    await db.destroy()
    rmSync(folder, { recursive: true })
  })
  await db.schema.createTable('notes', (table) => table.text('text'))
  return db
}

test('a statement with "returning *" is refused', () => {
  expect(() => new Statement('update notes set text = :text returning *')).toThrow('names the columns')
})

test('on SQLite, a statement does not queue for an idle connection', async () => {
  const db = await openNotes()
  let turns = 0
  const acquire = db.client.acquireConnection
  db.client.acquireConnection = function () {
    turns += 1
    return acquire.call(this)
  }
  await insert.run(db, { text: 'one' })
  expect(await list.all(db, {})).toEqual([{ text: 'one' }])
  expect(turns).toBe(0)
})

test('on SQLite, a statement waits for an open transaction and stays outside of it', async () => {
  const db = await openNotes()
  const transaction = await db.transaction()
  await transaction('notes').insert({ text: 'inside' })
  const outside = insert.run(db, { text: 'outside' })
  await transaction.rollback()
  expect(await outside).toBe(1)
  expect(await list.all(db, {})).toEqual([{ text: 'outside' }])
})

test('on SQLite, the parts of a statement take effect together or not at all', async () => {
  const db = await openNotes()
  const note = 'insert into notes (text) values (:text)'
  await expect(
    new Statement(note, [note, 'insert into nowhere (text) values (:text)']).run(db, { text: 'half' }),
  ).rejects.toThrow('nowhere')
  expect(await list.all(db, {})).toEqual([])
  expect(await new Statement(note, [note, note]).run(db, { text: 'whole' })).toBe(1)
  expect(await list.all(db, {})).toEqual([{ text: 'whole' }, { text: 'whole' }])
})

test('on SQLite, a transaction contains the parts that run in it, and rejects a statement after its end', async () => {
  const db = await openNotes()
  const note = 'insert into notes (text) values (:text)'
  const transaction = asTx(await db.transaction())
  await new Statement(note, [note, note]).run(transaction, { text: 'inside' })
  await transaction.rollback()
  await expect(insert.run(transaction, { text: 'late' })).rejects.toThrow('the transaction has ended')
  expect(await list.all(db, {})).toEqual([])
})
