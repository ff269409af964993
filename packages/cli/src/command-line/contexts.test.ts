import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openContexts } from './contexts.ts'

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'contexts-'))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  return made
}

const context = (base_url: string) => ({ base_url, email: null, tokens: null })

test('concurrent changes of the contexts are all kept', async () => {
  const place = folder()
  await Promise.all(
    Array.from({ length: 12 }, (_, index) =>
      openContexts(place).change(async (file) => {
        await new Promise((resolve) => setTimeout(resolve, 3))
        file.contexts[`c${index}`] = context('http://x')
      }),
    ),
  )
  expect(Object.keys(openContexts(place).read().contexts)).toHaveLength(12)
  expect(readdirSync(place)).toEqual(['contexts.json'])
  expect(statSync(join(place, 'contexts.json')).mode & 0o777).toBe(0o600)
})

test('a change that throws alters no file and leaves no lock', async () => {
  const place = folder()
  const contexts = openContexts(place)
  await expect(
    contexts.change((file) => {
      file.contexts.one = context('http://x')
      throw new Error('no')
    }),
  ).rejects.toThrow('no')
  expect(contexts.read().contexts).toEqual({})
  expect(readdirSync(place)).toEqual([])
})

test.each(['999999999 gone', `${process.pid} mine, but old`])('a change takes over an abandoned lock: %s', async (content) => {
  const place = folder()
  const lock = join(place, 'contexts.lock')
  writeFileSync(lock, content)
  if (content.startsWith(String(process.pid))) utimesSync(lock, new Date(0), new Date(0))
  await openContexts(place).change((file) => {
    file.contexts.one = context('http://x')
  })
  expect(readdirSync(place)).toEqual(['contexts.json'])
})

test.each(['[]', '{}', 'null', '{"contexts": {"a": {}}}', 'not json'])('a contexts file with %s is refused', (content) => {
  const place = folder()
  writeFileSync(join(place, 'contexts.json'), content, { mode: 0o600 })
  expect(() => openContexts(place).read()).toThrow(expect.objectContaining({ exit: 6 }))
})

test.runIf(process.platform !== 'win32').each([0o644, 0o640, 0o602])(
  'a contexts file of mode %o, which others can open, is refused',
  (mode) => {
    const place = folder()
    const path = join(place, 'contexts.json')
    writeFileSync(path, '{"version": 1, "current": null, "contexts": {}}')
    chmodSync(path, mode)
    expect(() => openContexts(place).read()).toThrow(expect.objectContaining({ exit: 6, code: 'contexts_not_private' }))
    chmodSync(path, 0o600)
    expect(openContexts(place).read().contexts).toEqual({})
  },
)
