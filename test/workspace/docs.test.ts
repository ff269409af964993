// The pages in Markdown lead to each other, and what else names a page names one that exists.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { pagesIn, readPageList } from '../../site/page-list.ts'
import { anchorsOf, linkFault, linksOf, repositoryFiles } from '../support/pages.ts'

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

test('every page is in the sidebar once', () => {
  const listed = pagesIn(readPageList()).map(({ path }) => `docs/${path}`)
  expect(new Set(listed).size).toBe(listed.length)
  const pages = files.filter((file) => /^docs\/.*\.md$/.test(file) && file !== 'docs/README.md')
  expect(listed.toSorted()).toEqual(pages.toSorted())
})

test('the sidebar has eight groups, and a title that fits into it for each page', () => {
  const groups = readPageList()
  expect(groups.length).toBe(8)
  const titles = groups.flatMap(({ pages, groups: inner }) => [
    ...pages,
    ...pagesIn(inner.filter(({ title }) => title !== 'Decisions')),
  ])
  expect(titles.filter(({ title }) => title.length > 36)).toEqual([])
})

test('forty questions are each answered under a heading that is at most two clicks from the sidebar: the page, and its outline', () => {
  const page = 'docs/start/questions.md'
  const answers = [...read(page).matchAll(/^(\d+)\. \[[^\]]+\?[^\]]*\]\(([^)]+)\)$/gm)]
  expect(answers.map(([, number]) => Number(number))).toEqual(Array.from({ length: 40 }, (_, index) => index + 1))
  const listed = new Set(pagesIn(readPageList()).map(({ path }) => `docs/${path}`))
  for (const [, , link = ''] of answers) {
    expect(linkFault(page, link)).toBeUndefined()
    const [path = '', anchor] = link.split('#')
    const target = join('docs/start', path)
    expect(listed).toContain(target)
    const outline = anchorsOf(read(target).replace(/^#{4,} .*$/gm, ''))
    expect({ link, inOutline: anchor === undefined || outline.has(anchor) }).toEqual({ link, inOutline: true })
  }
})
