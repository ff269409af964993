// The pages of this repository: every file in Markdown that Git knows, its headings and its links.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** All files that are in Git, or will be: neither ignored nor deleted. */
export function repositoryFiles(): string[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { cwd: root, encoding: 'utf8' })
  return listed.split('\n').filter((file) => file !== '' && existsSync(join(root, file)))
}

/** The anchors of a page, as a code host makes them: of its headings, and those written as `<a id="…">`. */
export function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>()
  for (const [, heading = ''] of withoutCode(text).matchAll(/^#+ +(.*)$/gm)) {
    const anchor = anchorOf(heading)
    let next = anchor
    for (let count = 1; anchors.has(next); count++) next = `${anchor}-${count}`
    anchors.add(next)
  }
  for (const [, id = ''] of text.matchAll(/<a id="([^"]+)">/g)) anchors.add(id)
  return anchors
}

export function anchorOf(heading: string): string {
  return heading
    .replace(/\]\([^)]*\)/g, '')
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-')
}

/** The links of a page to files and headings, as written. */
export function linksOf(text: string): string[] {
  const prose = withoutCode(text).replace(/`[^`\n]+`/g, '')
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link).filter((link) => !/^[a-z]+:/.test(link))
}

/** What is wrong with a link of a page, or undefined. */
export function linkFault(page: string, link: string): string | undefined {
  const [path = '', anchor] = link.split('#')
  const target = path === '' ? page : normalize(join(dirname(page), path))
  if (!existsSync(join(root, target))) return `${page}: ${link} leads nowhere`
  if (anchor === undefined || !target.endsWith('.md') || statSync(join(root, target)).isDirectory()) return undefined
  return anchorsOf(readFileSync(join(root, target), 'utf8')).has(anchor) ? undefined : `${page}: ${link} names no heading`
}

function withoutCode(text: string): string {
  return text.replace(/^ *```[\s\S]*?^ *```$/gm, '')
}
