// The pages of docs/ in the order of the sidebar, as docs/pages.json lists them. Imports nothing but Node, because the generator and
// the tests read it too.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const docs = fileURLToPath(new URL('../docs', import.meta.url))

export interface Page {
  /** Below docs/. */
  path: string
  title: string
}

export interface Group {
  title: string
  about: string
  pages: Page[]
  groups: Group[]
}

interface Listed {
  title: string
  about?: string
  folder: string
  /** A file, or a file and a title that is shorter than its heading. */
  pages: (string | [file: string, title: string])[]
  groups?: Listed[]
}

export function readPageList(): Group[] {
  const listed: Listed[] = JSON.parse(readFileSync(join(docs, 'pages.json'), 'utf8'))
  return listed.map(groupOf)
}

function groupOf({ title, about = '', folder, pages, groups = [] }: Listed): Group {
  return {
    title,
    about,
    pages: pages.map((page) => {
      const [file, short] = typeof page === 'string' ? [page] : page
      const path = `${folder}/${file}`
      return { path, title: short ?? headingOf(path) }
    }),
    groups: groups.map(groupOf),
  }
}

/** Every page of these groups, in order. */
export function pagesIn(groups: Group[]): Page[] {
  return groups.flatMap((group) => [...group.pages, ...pagesIn(group.groups)])
}

export function readPage(path: string): string {
  return readFileSync(join(docs, path), 'utf8')
}

function headingOf(path: string): string {
  return /^# (.*)$/m.exec(readPage(path))?.[1]?.replaceAll('`', '') ?? path
}
