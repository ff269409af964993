// llms.txt lists the pages for language models, and llms-full.txt has all of their text.
import { type Group, pagesIn, readPage } from './page-list.ts'

const summary =
  'One login service for all of your organization’s apps: a sign-in page, users, grants and tokens that backends verify locally.'

export function llmsIndex(groups: Group[]): string {
  const sections = groups.map((group) => {
    const links = pagesIn([group]).map(({ path, title }) => `- [${title}](/${path})`)
    return `## ${group.title}\n\n${group.about}\n\n${links.join('\n')}\n`
  })
  return `# Gatehouse\n\n> ${summary}\n\nAll pages in one file: [llms-full.txt](/llms-full.txt). The HTTP API: [OpenAPI](/reference/openapi.json).\n\n${sections.join('\n')}`
}

export function llmsFull(groups: Group[]): string {
  return pagesIn(groups)
    .map(({ path }) => `<!-- docs/${path} -->\n\n${readPage(path).trim()}\n`)
    .join('\n')
}
