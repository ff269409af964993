import { expect, test } from 'vitest'
import { contrast, isVisibleAccent, nearestAccent, textOn } from './brand.ts'

test('contrast is that of WCAG', () => {
  expect(contrast('#000000', '#ffffff')).toBeCloseTo(21)
  expect(contrast('#767676', '#ffffff')).toBeCloseTo(4.54, 2)
  expect(contrast('#123456', '#123456')).toBe(1)
})

test('text on a color is black or white, whichever contrasts more, and readable on each', () => {
  expect([textOn('#ffd700'), textOn('#1a56db')]).toEqual(['#000000', '#ffffff'])
  for (let red = 0; red < 256; red += 15)
    for (let green = 0; green < 256; green += 15) {
      const color = `#${[red, green, 99].map((value) => value.toString(16).padStart(2, '0')).join('')}`
      expect(contrast(textOn(color), color)).toBeGreaterThan(4.5)
    }
})

test('an accent is seen on both cards, and the nearest one is offered for a color that is not', () => {
  expect([isVisibleAccent('#2f6fde'), isVisibleAccent('#000080'), isVisibleAccent('#ffee99')]).toEqual([true, false, false])
  for (const color of ['#000080', '#ffee99', '#000000', '#ffffff', '#1a56db'])
    expect(isVisibleAccent(nearestAccent(color)), color).toBe(true)
})
