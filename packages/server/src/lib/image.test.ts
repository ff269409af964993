import { expect, test } from 'vitest'
import { buildJpeg, buildPng, buildWebp } from '../../../../test/support/images.ts'
import { readImage } from './image.ts'

test('the type and size of an image are read from its content', () => {
  expect(readImage(buildPng(40, 20))).toEqual({ type: 'image/png', width: 40, height: 20 })
  expect(readImage(buildJpeg(300, 1_000))).toEqual({ type: 'image/jpeg', width: 300, height: 1_000 })
  for (const form of ['VP8 ', 'VP8L', 'VP8X'] as const)
    expect(readImage(buildWebp(form, 700, 33))).toEqual({ type: 'image/webp', width: 700, height: 33 })
})

test('other content, or an image cut off anywhere, is not accepted as an image', () => {
  const images = [buildPng(40, 20), buildJpeg(300, 200), buildWebp('VP8L', 700, 33)]
  for (const bytes of ['', 'GIF89a', '<svg xmlns="http://www.w3.org/2000/svg"/>', 'RIFF0000WEBPVP9 '.padEnd(40, '0')])
    expect(readImage(Buffer.from(bytes))).toBeUndefined()
  for (const image of images)
    for (let length = 0; length < 9; length += 1) expect(readImage(image.subarray(0, length))).toBeUndefined()
  expect(readImage(buildPng(0, 20))).toBeUndefined()
  // A segment that goes on past the end, and one that never ends.
  expect(readImage(Buffer.from('ffd8ffe0ffff00000000', 'hex'))).toBeUndefined()
  expect(readImage(Buffer.concat([Buffer.from('ffd8', 'hex'), Buffer.alloc(300_000, 0xff)]))).toBeUndefined()
})
