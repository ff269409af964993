import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { asTx, type Tx } from '../db/handle.ts'
import { createKnex } from '../db/knex.ts'
import { BaseModel } from './base-model.ts'

class Lamp extends BaseModel {
  static override tableName = 'lamps'
  static override booleanColumns = ['is_lit']

  declare id: number
  declare room: string | null
  declare is_lit: boolean
}

async function withLamps(use: (db: Tx) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-model-'))
  const db = createKnex({ databaseUrl: `sqlite:${join(folder, 'lamps.db')}`, dbPoolMax: 1 })
  onTestFinished(async () => {
    await db.destroy()
    rmSync(folder, { recursive: true })
  })
  await db.schema.createTable('lamps', (table) => {
    table.integer('id').primary()
    table.text('room')
    table.integer('is_lit').notNullable()
  })
  await db.transaction(async (open) => {
    const tx = asTx(open)
    await Lamp.insert(tx, { id: 1, room: 'hall', is_lit: true })
    await Lamp.insert(tx, { id: 2, room: 'hall', is_lit: false })
    await Lamp.insert(tx, { id: 3, room: null, is_lit: true })
    await use(tx)
  })
}

test('a model finds, lists, changes and removes rows by column, with booleans and null', async () => {
  await withLamps(async (db) => {
    expect(await Lamp.find(db, { room: 'hall', is_lit: true })).toEqual({ id: 1, room: 'hall', is_lit: true })
    expect(await Lamp.find(db, { room: null }).select('id')).toEqual({ id: 3 })
    expect(await Lamp.find(db, { id: 4 })).toBeUndefined()
    expect(await Lamp.list(db, { is_lit: true }).orderBy('id', 'desc').select('id')).toEqual([{ id: 3 }, { id: 1 }])
    expect(await Lamp.list(db, {})).toHaveLength(3)

    expect(await Lamp.update(db, { room: 'hall' }, { is_lit: true })).toBe(2)
    expect(await Lamp.update(db, { id: 4 }, { is_lit: true })).toBe(0)
    expect(await Lamp.list(db, { is_lit: true })).toHaveLength(3)
    expect(await Lamp.remove(db, { room: null })).toBe(1)
    expect(await Lamp.list(db, {}).orderBy('id').select('id')).toEqual([{ id: 1 }, { id: 2 }])
  })
})

test('a look-up of one row asks the database for only one', async () => {
  await withLamps(async (db) => {
    expect(Lamp.find(db, { room: 'hall' }).toKnexQuery().toSQL().sql).toContain('limit')
  })
})

test('a change without a condition is refused, and so is an undefined condition', async () => {
  await withLamps(async (db) => {
    await expect(Lamp.update(db, {}, { is_lit: true })).rejects.toThrow('all rows')
    await expect(Lamp.remove(db, {})).rejects.toThrow('all rows')
    await expect(Lamp.remove(db, { room: undefined })).rejects.toThrow('undefined')
    expect(await Lamp.list(db, {})).toHaveLength(3)
  })
})
