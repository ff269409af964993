// The pages in Markdown lead to each other, and what else names a page names one that exists.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { linkFault, linksOf, repositoryFiles } from '../support/pages.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const files = repositoryFiles()
const read = (file: string) => readFileSync(join(root, file), 'utf8')

test('every link from one file of the repository to another leads to a file, and to a heading of it', () => {
  const pages = files.filter((file) => file.endsWith('.md') && !file.startsWith('test/fixtures/'))
  expect(pages.length).toBeGreaterThan(100)
  expect(pages.flatMap((page) => linksOf(read(page)).flatMap((link) => linkFault(page, link) ?? []))).toEqual([])
})

test('every page that a source, a setting or a message names is there', () => {
  const texts = files.filter(
    (file) => /\.(ts|tsx|mjs|js|py|ya?ml|json|md|service|sh)$/.test(file) && !file.startsWith('test/fixtures/'),
  )
  const named = texts.flatMap((file) =>
    [...read(file).matchAll(/(?<![\w/-])docs\/[\w/-]+\.(?:md|json|svg|png)\b/g)].map(([path]) => ({ file, path })),
  )
  expect(named.length).toBeGreaterThan(100)
  expect(named.filter(({ path }) => !existsSync(join(root, path)))).toEqual([])
})
