// The drawings of docs/pictures, which `npm run generate` makes from texts and from the figures of the benches.
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { draw } from '../../scripts/drawings/draw.ts'
import { fiveBars } from '../../scripts/drawings/five-bars.ts'
import { drawRecording } from '../../scripts/drawings/recording.ts'
import { width, widthOf, wrap } from '../../scripts/drawings/svg.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const pictures = join(root, 'docs/pictures')
const drawings = globSync('*.svg', { cwd: pictures }).sort()
const pages = globSync(['README.md', 'docs/*/*.md'], { cwd: root })
  .map((name) => readFileSync(join(root, name), 'utf8'))
  .join('')

describe.each(drawings)('%s', (name) => {
  const svg = readFileSync(join(pictures, name), 'utf8')

  test('the drawing is well-formed', () => {
    const open: string[] = []
    const tags = /<(\/?)(\w+)((?: [\w-]+="[^"<]*")*)(\/?)>/g
    for (const [, end, tag, , isEmpty] of svg.matchAll(tags)) {
      if (end) expect(open.pop()).toBe(tag)
      else if (!isEmpty) open.push(tag!)
    }
    expect(open).toEqual([])
    expect(svg.replace(tags, '').replace(/&(?:amp|lt|gt|quot);/g, '')).not.toMatch(/[<&]|]]>/)
  })

  test('the drawing loads nothing from elsewhere, runs nothing, and is small', () => {
    expect(svg).not.toMatch(/<script|href|url\((?!#)|@import|\bon\w+=/)
    expect(svg.length).toBeLessThan(64_000)
  })

  test('the drawing has colors for light and dark mode, and a label for people who do not see it', () => {
    expect(svg).toContain('@media (prefers-color-scheme: dark)')
    expect(svg).toMatch(/role="img" aria-label="[^"]{40,}"/)
  })

  test('the drawing is on a page, with a text for people who do not see it', () => {
    const image = new RegExp(`!\\[[^\\]]{40,}\\]\\([./a-z]*pictures/${basename(name)}\\)`)
    expect(image.test(pages)).toBe(true)
  })
})

test('a faulty drawing is refused with the name of the missing lane or of the unknown kind', () => {
  expect(() => draw('kind: sequence\ntitle: T\nlanes: A | B\nA -> C: hello')).toThrow('there is no lane "C"')
  expect(() => draw('kind: cake\ntitle: T')).toThrow('"cake" is not a kind of drawing')
})

test('text wraps between words and fits, with any characters', () => {
  const lines = wrap('one two three four five six seven', 80)
  expect(lines.join(' ')).toBe('one two three four five six seven')
  for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(80)
  expect(draw('kind: flow\ntitle: <a> & "b"\n<x>: y & z')).toContain('&lt;x&gt;')
  expect(width).toBeLessThanOrEqual(520)
})

test('a recording shows each line once, and its last lines without motion', () => {
  const svg = drawRecording('T', Array.from({ length: 30 }, (_, index) => `line ${index}`).join('\n'))
  expect([...svg.matchAll(/>line \d+</g)]).toHaveLength(30)
  expect(svg).toContain('prefers-reduced-motion')
  expect(svg).toContain(`.roll { transform: translateY(-${(32 - 20) * 18}px)`)
})

test('the drawing of the five bars fails without one of their figures', () => {
  const runs = JSON.parse(readFileSync(join(root, 'docs/reference/performance.json'), 'utf8'))
  expect(fiveBars(runs).map(({ times }) => times > 0)).toEqual([true, true, true, true, true])
  expect(() => fiveBars({ ...runs, verify: undefined })).toThrow('verify: no figure "SDK verify"')
})
