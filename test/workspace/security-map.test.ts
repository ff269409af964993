// docs/operate/security.md maps requirements to tests. Each test that it names must exist under that title.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
const rows = readFileSync(join(root, 'docs/operate/security.md'), 'utf8')
  .split('\n')
  .filter((line) => /^\| \d+\.\d+\.\d+/.test(line))
  .map((line) => {
    const [requirement = '', , state = '', shown = ''] = line.slice(2).split(' | ')
    return { requirement, state, shown }
  })
const testsIn = (text: string) =>
  [...text.matchAll(/`([^`]+\.test\.ts)` “([^”]+)”/g)].map(([, file, title]) => ({ file: file!, title: title! }))

test('every requirement has one of four states, and one that is met names what shows it', () => {
  expect(rows.length).toBeGreaterThan(70)
  for (const { requirement, state, shown } of rows) {
    expect(['met', 'partly', 'not met', 'yours'], requirement).toContain(state)
    if (state === 'met' && requirement !== '6.4.2') expect(testsIn(shown).length, requirement).toBeGreaterThan(0)
    expect(shown.match(/\.test\.ts/g)?.length ?? 0, requirement).toBe(testsIn(shown).length)
  }
})

test('every test that the map names is in its file', () => {
  for (const { requirement, shown } of rows) {
    for (const { file, title } of testsIn(shown)) {
      expect(existsSync(join(root, file)), `${requirement}: ${file}`).toBe(true)
      const lines = readFileSync(join(root, file), 'utf8').split('\n')
      const titles = lines.filter((line) => /^\s*(?:test|describe|\]|'|`)/.test(line))
      expect(
        titles.some((line) => line.includes(title)),
        `${requirement}: “${title}” in ${file}`,
      ).toBe(true)
    }
  }
})
