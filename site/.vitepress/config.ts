import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { type DefaultTheme, defineConfig, type MarkdownOptions } from 'vitepress'
import { llmsFull, llmsIndex } from '../llms.ts'
import { docs, type Group, pagesIn, readPage, readPageList } from '../page-list.ts'

const repository = 'https://github.com/gatehouse/gatehouse/blob/main'
const groups = readPageList()
/** Served beside the pages. */
const files = ['reference/openapi.json', 'reference/performance.json']

type Markdown = Parameters<NonNullable<MarkdownOptions['config']>>[0]
type Token = ReturnType<Markdown['parse']>[number]

/** The anchors that a code host gives headings, so that a link works at both. */
function slugify(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-')
}

/** Where a link of a page leads on the site: files outside docs/ are on the code host. */
function onSite(href: string, page: string): string {
  if (/^[a-z]+:|^[#/]/.test(href)) return href
  const [path = '', anchor] = href.split('#')
  const target = posix.join(posix.dirname(page), path)
  if (target.startsWith('..')) return `${repository}/${posix.join('docs', target)}`
  if (files.includes(target)) return `/${target}`
  return path.replace(/README\.md$/, 'index.md') + (anchor === undefined ? '' : `#${anchor}`)
}

function sidebarOf({ title, pages, groups: inner }: Group): DefaultTheme.SidebarItem {
  const items = pages.map((page) => ({ text: page.title, link: `/${page.path.replace(/(README)?\.md$/, '')}` }))
  return { text: title, collapsed: true, items: [...items, ...inner.map(sidebarOf)] }
}

/** Files outside docs/, which are on the code host. */
const onCodeHost: DefaultTheme.SidebarItem = {
  text: 'On the code host',
  collapsed: true,
  items: [
    { text: 'Contribute', link: `${repository}/CONTRIBUTING.md` },
    { text: 'Report a weakness', link: `${repository}/SECURITY.md` },
    { text: 'Examples', link: `${repository}/examples` },
  ],
}

/** It runs in the browser too, so it uses nothing of this file. */
function withoutQuestion(term: string): string | null {
  const word = term.toLowerCase()
  return /^(an?|about|and|any|are|as|at|be|by|can|do|does|find|for|from|gets?|has|have|he|her|him|his|how|i|if|in|is|its?|know|many|me|much|my|need|not|of|on|one|or|our|see|she|should|show|so|that|the|their|them|there|they|this|to|us|was|we|what|when|where|which|while|who|why|will|with|your?)$/.test(
    word,
  )
    ? null
    : word
}

/** Questions with their answers come first, and last what was not written to be searched. It runs in the browser, as above. */
function rank(id: string): number {
  if (id.includes('/start/questions')) return 2
  return /owasp|contract\/coverage|performance-figures|reliability\.html#figures|\/adr\//.test(id) ? 0.4 : 1
}

/** Gives each cell the head of its column, because a phone does not show the heads of wide tables. */
function nameColumns(tokens: Token[]): void {
  let heads: string[] = []
  let column = 0
  for (const [index, token] of tokens.entries()) {
    if (token.type === 'thead_open') heads = []
    if (token.type === 'th_open') heads.push(tokens[index + 1]?.content ?? '')
    if (token.type === 'tr_open') column = 0
    if (token.type === 'td_open') token.attrSet('data-head', heads[column++] ?? '')
  }
}

/** The pages are outside of this folder, where Vue would not be found. What renders them is inside. */
const vueOnServer = {
  name: 'vue-on-server',
  enforce: 'pre' as const,
  resolveId: (id: string, _importer: unknown, { ssr }: { ssr?: boolean }) =>
    ssr && /^vue($|[/])/.test(id) ? { id, external: true } : undefined,
}

export default defineConfig({
  srcDir: '../docs',
  outDir: 'dist',
  cacheDir: 'node_modules/.cache/vitepress',
  title: 'Gatehouse',
  description: 'One login service for all of your apps',
  lang: 'en',
  rewrites: { 'README.md': 'index.md', ':folder/README.md': ':folder/index.md', ':a/:b/README.md': ':a/:b/index.md' },
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  // Pages name addresses that the reader's own machine serves.
  ignoreDeadLinks: 'localhostLinks',
  markdown: {
    languageAlias: { haproxy: 'nginx' },
    anchor: { slugify },
    theme: { light: 'github-light', dark: 'github-dark' },
    config(md) {
      md.core.ruler.push('heads', ({ tokens }) => nameColumns(tokens))
      const original = md.renderer.rules.link_open!
      md.renderer.rules.link_open = (tokens, index, options, env, self) => {
        const token = tokens[index]!
        token.attrSet('href', onSite(token.attrGet('href') ?? '', env.relativePath))
        return original(tokens, index, options, env, self)
      }
    },
  },
  vite: { plugins: [vueOnServer] },
  themeConfig: {
    sidebar: [...groups.map(sidebarOf), onCodeHost],
    outline: [2, 3],
    search: {
      provider: 'local',
      options: {
        // An answer is read where it is found.
        detailedView: true,
        miniSearch: {
          // Readers type questions, with words of their own. The more of them a section has, the higher it stands.
          options: { processTerm: withoutQuestion },
          searchOptions: { combineWith: 'OR', fuzzy: 0.1, boostDocument: rank },
        },
      },
    },
    docFooter: { prev: false, next: false },
    externalLinkIcon: true,
  },
  // A page without headings has no outline, and its tables get that room. Of the questions, the outline has the topics alone.
  transformPageData: ({ filePath, frontmatter }) => ({
    frontmatter: {
      ...frontmatter,
      aside: /^## /m.test(readPage(filePath)),
      ...(filePath.endsWith('start/questions.md') && { outline: 2 }),
    },
  }),
  buildEnd({ outDir }) {
    for (const file of files) cpSync(join(docs, file), join(outDir, file))
    for (const { path } of pagesIn(groups)) {
      mkdirSync(dirname(join(outDir, path)), { recursive: true })
      cpSync(join(docs, path), join(outDir, path))
    }
    writeFileSync(join(outDir, 'llms.txt'), llmsIndex(groups))
    writeFileSync(join(outDir, 'llms-full.txt'), llmsFull(groups))
  },
})
