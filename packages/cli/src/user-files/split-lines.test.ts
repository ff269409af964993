import { expect, test } from 'vitest'
import { splitLines } from './split-lines.ts'

async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size)
}

async function split(text: string, size: number, longest = 100) {
  const lines = []
  for await (const { bytes, ...line } of splitLines(inPieces(Buffer.from(text), size), longest))
    lines.push({ text: bytes.toString(), ...line })
  return lines
}

const fine = { isTooLong: false }

test.each([1, 2, 3, 5, 64])('the lines are the same wherever the bytes are cut: pieces of %i', async (size) => {
  expect(await split('\ufeffé€\r\n\n😀\nlast', size)).toEqual([
    { line: 1, text: 'é€', ...fine, end: 10 },
    { line: 2, text: '', ...fine, end: 11 },
    { line: 3, text: '😀', ...fine, end: 16 },
    { line: 4, text: 'last', ...fine, end: 20 },
  ])
  expect(await split('', size)).toEqual([])
  expect((await split('a\n', size)).map(({ text }) => text)).toEqual(['a'])
  expect((await split('a\n\ufeffb\rc', size)).map(({ text }) => text)).toEqual(['a', '\ufeffb\rc'])
})

test.each([1, 2, 3, 64])('a line has at most the allowed number of bytes, not counting its end: pieces of %i', async (size) => {
  const long = 'é'.repeat(5)
  const lines = await split(`\ufeff${long}\r\n${long}\n${long}\r\n${long}x\n${long.repeat(9)}\r\n${long}x`, size, 10)
  expect(lines.map(({ isTooLong }) => isTooLong)).toEqual([false, false, false, true, true, true])
  expect(lines.at(-1)).toMatchObject({ line: 6, end: 3 + 12 + 11 + 12 + 12 + 92 + 11 })
  for (const { text } of lines) expect(text.startsWith('ééééé'.slice(0, 4))).toBe(true)
  for (const { text } of lines) expect(Buffer.byteLength(text)).toBeLessThanOrEqual(20)
})
