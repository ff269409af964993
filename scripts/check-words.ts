// Checks the words of pages, comments, messages and test titles: no citation of a document outside this repository, no word that is
// not plain English, and few long sentences in the docs.
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

interface Rule {
  refused: RegExp
  why: string
  /** Holds only for these files. */
  of?: RegExp
}

const rules: Rule[] = [
  // Readers have only the repository.
  { refused: /\b(?:decisions|contract) §?\d/i, why: 'cites a document that is not in the repository' },
  { refused: /\bwhoever\b/i, why: 'is not plain English: name the person, such as "a user who"' },
  { refused: /\banew\b/i, why: 'is not plain English: write "again", or the verb with "re"' },
  { refused: /\bunless (?:told|given)\b/i, why: 'is not plain English: write "by default"' },
  { refused: /\bso many\b/i, why: 'is not plain English: write "a limited number of", or the number' },
  { refused: /\bwhatever else\b/i, why: 'is not plain English: say what else, or "even if"' },
  { refused: /\b(?:tells?|told) of\b/i, why: 'is not plain English: write "reports", "shows" or "mentions"' },
  {
    refused: /\b(?:log|logs|logging) in\b|\blogged[ -]in\b/i,
    why: 'is not the word of the glossary: people sign in',
    // The contract keeps its sentences, and the map of security quotes test titles.
    of: /^(?!docs\/(?:reference\/contract\/|operate\/security)).*\.md$|^packages\/cli\/src\/commands\//,
  },
  {
    refused: /\bways? in\b(?! which)/i,
    why: 'is not the word of the glossary: way to sign in',
    of: /^docs\/(?!reference\/contract\/|why\/adr\/).*\.md$/,
  },
  {
    // The names of files and codes, and the word as code has it, stand between hyphens, backticks or asterisks.
    refused: /(?<![-`*])\b(?:floors?|doors?)\b(?![-`*])/,
    why: 'is not the word of the glossary: minimum token version, or way to sign in',
    of: /^(?!docs\/reference\/contract\/).*\.md$/,
  },
  { refused: /\b(?:albeit|hence|likewise|thereby|thereof|upon|whereas|whereby)\b/i, why: 'is not plain English' },
]

const generated = ['docs/reference/contract/coverage.md', '**/api-types.ts', '**/CHANGELOG.md']
// Released migrations never change, and these two files name the words.
const named = ['**/db/migrations/*', 'scripts/check-words.ts', 'test/workspace/check.test.ts']
const texts = globSync(
  [
    '*.md',
    '.changeset/*.md',
    '{packages,site}/*/src/**/*.{ts,tsx,mjs}',
    '{packages,scripts,test,docs,examples,site}/**/*.{ts,tsx,mjs,md}',
  ],
  { cwd: root, exclude: ['**/node_modules/**', '**/dist/**', ...generated, ...named] },
)
for (const file of [...new Set(texts)].sort()) {
  for (const [index, line] of readFileSync(join(root, file), 'utf8').split('\n').entries()) {
    const rule = rules.find(({ refused, of }) => (of?.test(file) ?? true) && refused.test(line))
    if (!rule) continue
    console.error(`${file}:${index + 1} ${rule.why}: ${line.trim()}`)
    process.exitCode = 1
  }
}

const longest = 35
/** Lower it when there are fewer. */
const mostLong = 24

/** The sentences of a page, without code, tables and headings. */
function sentencesOf(page: string): string[] {
  const prose = page.replace(/```[\s\S]*?```|<!--[\s\S]*?-->|^(?:\||#).*$/gm, '\n\n').replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
  return prose
    .split(/\n\s*\n|\n\s*(?:[-*]|\d+\.) /)
    .flatMap((block) => block.replace(/\s+/g, ' ').split(/(?<=[.!?:;]) (?=[A-Z"`*(“])/))
}

const long = globSync(['*.md', 'docs/**/*.md'], { cwd: root, exclude: generated })
  .sort()
  .flatMap((file) => sentencesOf(readFileSync(join(root, file), 'utf8')).map((sentence) => ({ file, sentence: sentence.trim() })))
  .filter(({ sentence }) => sentence.split(' ').length > longest)
if (long.length > mostLong) {
  for (const { file, sentence } of long) console.error(`${file}: ${sentence}`)
  console.error(
    `${long.length} sentences have more than ${longest} words; at most ${mostLong} may. Divide those that you have written.`,
  )
  process.exitCode = 1
}
