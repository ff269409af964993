// A released migration never changes. Otherwise existing databases would differ from new ones.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { migrations } from '../../packages/server/src/db/migrate.ts'
import { checksums } from '../../packages/server/src/db/migrations/checksums.ts'
import { isAtLeast, version } from '../../packages/server/src/lib/version.ts'

const folder = new URL('../../packages/server/src/db/migrations/', import.meta.url)
const names = readdirSync(folder)
  .filter((file) => /^\d{4}-.*\.ts$/.test(file))
  .map((file) => file.replace(/\.ts$/, ''))

/** The checksum of the code only: comment lines and the whitespace between words may change. */
function checksumOf(name: string): string {
  const code = readFileSync(new URL(`${name}.ts`, folder), 'utf8')
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => !/^(\/\/|\/\*\*|\*)/.test(line))
    .join(' ')
    .replace(/\s+/g, ' ')
  return createHash('sha256').update(code.trim()).digest('hex')
}

test('each migration has a checksum', () => {
  expect(Object.keys(checksums)).toEqual(names)
})

test.each(names)('%s is unchanged since its release', (name) => {
  const advice = `${name} is released: write the next migration instead. Only a new one gets the checksum of its text`
  expect(checksums[name], advice).toBe(checksumOf(name))
})

test('each migration after 0032 names the oldest version that runs on its schema', () => {
  const silent = names.filter((name) => migrations.steps[name]?.oldestVersion === undefined)
  expect(silent).toEqual(names.filter((name) => name <= '0032-oldest-versions'))
  for (const name of names.filter((name) => !silent.includes(name))) {
    const { oldestVersion } = migrations.steps[name]!
    expect(oldestVersion).toMatch(/^\d+\.\d+\.\d+$/)
    expect(isAtLeast(version, oldestVersion!)).toBe(true)
  }
})
