import { expect, test } from 'vitest'
import { Holders } from './holders.ts'

test('Holders tells which codes a user holds, and reads each list once and no further than needed', async () => {
  const read: string[] = []
  const lists: Record<string, string[][]> = { b: [['9', '7'], [], ['5']], a: [['8'], ['7', '1'], ['0']], none: [] }
  async function* usersOf(code: string) {
    for (const page of lists[code]!) {
      read.push(`${code}${page}`)
      yield page.map((id) => ({ id }))
    }
  }
  const holders = new Holders(['b', 'none', 'a'], usersOf)
  const held: Record<string, string[]> = {}
  for (const id of ['9', '8', '7', '6', '5', '4']) held[id] = await holders.of(id)
  expect(held).toEqual({ 9: ['b'], 8: ['a'], 7: ['a', 'b'], 6: [], 5: ['b'], 4: [] })
  expect(read).toEqual(['a8', 'b9,7', 'a7,1', 'b', 'b5'])
})
