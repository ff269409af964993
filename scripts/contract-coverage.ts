// Which tests cover which sentence of docs/reference/contract. A sentence is a list item that begins with its anchor. A test names the
// anchors of the sentences that it proves in a comment before it: `// covers app-code-unique app-code-format`.
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const folder = 'docs/reference/contract'
const testFiles = ['test/**/*.test.ts', 'packages/*/src/**/*.test.ts']
/** In reading order. */
const pages = ['service', 'resources', 'states', 'endpoints', 'authentication', 'events', 'errors', 'limits', 'versions']

interface Sentence {
  page: string
  anchor: string
  text: string
}

interface Citation {
  anchor: string
  file: string
  title: string
}

export interface Coverage {
  sentences: { page: string; title: string; sentences: (Sentence & { tests: Citation[] })[] }[]
  /** One line each. */
  faults: string[]
}

export function readCoverage(): Coverage {
  const faults: string[] = []
  const found = pages.map((page) => readPage(page))
  const sentences = found.flatMap((page) => page.sentences)
  const citations = globSync(testFiles, { cwd: root, exclude: ['**/node_modules/**'] })
    .sort()
    .flatMap((file) => readCitations(file, faults))
  const anchors = new Set(sentences.map(({ anchor }) => anchor))
  if (anchors.size < sentences.length) {
    const twice = sentences.filter(({ anchor }, index) => sentences.findIndex((each) => each.anchor === anchor) !== index)
    for (const { page, anchor } of twice) faults.push(`${folder}/${page}.md: the anchor ${anchor} occurs twice`)
  }
  for (const { file, title, anchor } of citations)
    if (!anchors.has(anchor)) faults.push(`${file}: “${title}” covers ${anchor}, which no page of ${folder} has`)
  const covered = new Set(citations.map(({ anchor }) => anchor))
  for (const { page, anchor } of sentences)
    if (!covered.has(anchor)) faults.push(`${folder}/${page}.md#${anchor} is not covered by a test`)
  faults.push(...readIndexFaults(found))
  const testsOf = (anchor: string) => citations.filter((citation) => citation.anchor === anchor)
  return {
    sentences: found.map(({ page, title, sentences }) => ({
      page,
      title,
      sentences: sentences.map((sentence) => ({ ...sentence, tests: testsOf(sentence.anchor) })),
    })),
    faults,
  }
}

function readPage(page: string): { page: string; title: string; sentences: Sentence[] } {
  const text = readFileSync(join(root, folder, `${page}.md`), 'utf8')
  const [, title = page] = /^# (.+)$/m.exec(text) ?? []
  const items = text.matchAll(/^- <a id="([a-z0-9-]+)"><\/a>(.+(?:\n {2}\S.*)*)$/gm)
  return {
    page,
    title,
    sentences: Array.from(items, ([, anchor = '', text = '']) => ({ page, anchor, text: text.replace(/\s+/g, ' ') })),
  }
}

/** Faults of the page of topics: links to sentences that do not exist, and pages that no topic links to. */
function readIndexFaults(found: readonly { page: string; sentences: readonly Sentence[] }[]): string[] {
  const index = `${folder}/README.md`
  const links = [...readFileSync(join(root, index), 'utf8').matchAll(/\]\(([a-z]+)\.md#([a-z0-9-]+)\)/g)]
  const there = new Set(found.flatMap(({ page, sentences }) => sentences.map(({ anchor }) => `${page}#${anchor}`)))
  const dead = links.filter(([, page, anchor]) => !there.has(`${page}#${anchor}`))
  const unseen = found.filter(({ page }) => !links.some(([, linked]) => linked === page))
  return [
    ...dead.map(([, page, anchor]) => `${index} links to ${page}.md#${anchor}, which does not exist`),
    ...unseen.map(({ page }) => `${index} links to no sentence of ${page}.md`),
  ]
}

function readCitations(file: string, faults: string[]): Citation[] {
  const text = readFileSync(join(root, file), 'utf8')
  if (!text.includes('// covers ')) return []
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  const citations: Citation[] = []
  let comments = 0
  const visit = (node: ts.Node): void => {
    if (ts.isExpressionStatement(node)) {
      for (const { pos, end } of ts.getLeadingCommentRanges(text, node.getFullStart()) ?? []) {
        const [, anchors] = /^\/\/ covers (.+)$/.exec(text.slice(pos, end)) ?? []
        if (anchors === undefined) continue
        comments += 1
        const title = titleOf(node.expression)
        if (title === undefined) faults.push(`${file}: the statement after “covers ${anchors}” is not a test`)
        else for (const anchor of anchors.trim().split(/\s+/)) citations.push({ anchor, file, title })
      }
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  const written = text.match(/^\s*\/\/ covers /gm)?.length ?? 0
  if (written > comments) faults.push(`${file}: a comment “covers …” is not followed by a test`)
  return citations
}

/** The title of `test('title', …)`, `describe(…)`, or one of them with a table of cases. */
function titleOf(node: ts.Expression): string | undefined {
  if (!ts.isCallExpression(node)) return undefined
  const [title] = node.arguments
  return title &&
    ts.isStringLiteralLike(title) &&
    /^(?:test|describe)\b/.test(node.expression.getText(node.getSourceFile() ?? undefined))
    ? title.text
    : undefined
}

/** Renders docs/reference/contract/coverage.md. */
export function coveragePage(): string {
  const lines = readCoverage().sentences.flatMap(({ page, title, sentences }) => [
    `## ${title}`,
    '',
    '| Sentence | Tests |',
    '| --- | --- |',
    ...sentences.map(
      ({ anchor, text, tests }) => `| [${anchor}](${page}.md#${anchor}) ${cell(text)} | ${tests.map(cite).join('<br>')} |`,
    ),
    '',
  ])
  return lines.join('\n').trimEnd()
}

function cite({ file, title }: Citation): string {
  return `\`${file}\` “${cell(title)}”`
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|')
}
