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

test('every page that a source, a setting or a message names exists', () => {
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

test('the sidebar has eight groups, and the title of every page fits into it', () => {
  const groups = readPageList()
  expect(groups.length).toBe(8)
  const titles = groups.flatMap(({ pages, groups: inner }) => [
    ...pages,
    ...pagesIn(inner.filter(({ title }) => title !== 'Decisions')),
  ])
  expect(titles.filter(({ title }) => title.length > 36)).toEqual([])
})

interface Entry {
  question: string
  answer: string
  link: string | undefined
}

/** What stands under each heading that is a question. The answer ends with its link. */
function entriesOf(page: string): Entry[] {
  return page
    .split(/^### /m)
    .slice(1)
    .map((entry) => {
      const [question = '', ...lines] = entry.split(/\n(?:## .*)?/)
      const [, answer = '', link] = /^(.*?) ?(?:\[[^\]]+\]\(([^)]+)\))?$/.exec(lines.join(' ').trim()) ?? []
      return { question, answer, link }
    })
}

test('at least 200 questions have a short answer and a link to a section at most two clicks from the sidebar', () => {
  const page = 'docs/start/questions.md'
  const entries = entriesOf(read(page))
  expect(entries.length).toBeGreaterThanOrEqual(200)
  expect(new Set(entries.map(({ question }) => question)).size).toBe(entries.length)
  const listed = new Set(pagesIn(readPageList()).map(({ path }) => `docs/${path}`))
  const outlines = new Map([...listed].map((path) => [path, anchorsOf(read(path).replace(/^#{4,} .*$/gm, ''))]))
  const faults = entries.flatMap(({ question, answer, link = '' }) => {
    const [path = '', anchor = ''] = link.split('#')
    const sentences = answer.split(/(?<=[.!?:;]) (?=[A-Z`“])/)
    return [
      ...(question.endsWith('?') ? [] : ['no question']),
      ...(answer.endsWith('.') ? [] : ['no answer in sentences']),
      ...sentences.filter((sentence) => sentence.split(' ').length > 25).map((sentence) => `long: ${sentence}`),
      ...(linkFault(page, link) ? [`${link} leads nowhere`] : []),
      ...(outlines.get(join('docs/start', path))?.has(anchor) ? [] : [`${link} is in no outline`]),
    ].map((fault) => `${question} ${fault}`)
  })
  expect(faults).toEqual([])
})

test('every command in the answers is one of authctl, with options that it has', () => {
  const pages = files.filter((file) => file.startsWith('docs/reference/authctl/'))
  const sections = pages.flatMap((page) =>
    read(page)
      .split(/^#+ authctl /m)
      .slice(1),
  )
  const forAll = read('docs/reference/authctl/README.md')
  const answers = read('docs/start/questions.md').replaceAll('\n', ' ')
  const commands = [...answers.matchAll(/`authctl ([^`]+)`/g)].map(([, command = '']) => command)
  expect(commands.length).toBeGreaterThan(60)
  const faults = commands.flatMap((command) => {
    const named = sections.filter((section) => `${command} `.startsWith(`${section.split('\n')[0]} `))
    const options = command.match(/--[a-z-]+/g) ?? []
    if (named.length === 0) return [command]
    return options
      .filter((option) => ![...named, forAll].some((text) => text.includes(option)))
      .map((option) => `${command}: ${option}`)
  })
  expect(faults).toEqual([])
})
