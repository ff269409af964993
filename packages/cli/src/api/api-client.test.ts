import { expect, test } from 'vitest'
import { pages } from './api-client.ts'

async function read(cursors: (string | null)[]): Promise<number> {
  let count = 0
  for await (const items of pages(async () => ({ items: ['one'], next_cursor: cursors[count] ?? null }))) count += items.length
  return count
}

test('the client reads a list to its end, and gives up on a service that repeats a page', async () => {
  expect(await read(['a', 'b', null])).toBe(3)
  await expect(read(Array.from({ length: 1_000 }, () => 'a'))).rejects.toMatchObject({
    ending: 'unreachable',
    code: 'no_progress',
  })
})
