import { Html, type HtmlPart, html } from '../text/html.ts'
import { style } from './style.ts'

/** The pages: their path after the token, and their title. */
const pageTitles = {
  '': 'Now',
  users: 'Users',
  sessions: 'Sessions',
  grants: 'Grants',
  audit: 'Audit',
  webhooks: 'Webhook log',
} as const
export type PageName = keyof typeof pageTitles

interface Document {
  page: PageName
  /** Which service: `in production (https://auth.example.com)`. */
  where: string
  body: HtmlPart
}

/** Renders the whole document. It has no scripts, and loads nothing from elsewhere. */
export function renderDocument({ page, where, body }: Document): string {
  const links = Object.entries(pageTitles).map(([name, title]) => {
    const current = name === page ? html` aria-current="page"` : ''
    return html`<li><a href="./${name}"${current}>${title}</a></li>\n`
  })
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${pageTitles[page]} - Gatehouse ${where}</title>
<style>${new Html(style)}</style>
</head>
<body>
<header>
<p>Gatehouse ${where}</p>
<nav aria-label="Pages"><ul>
${links}</ul></nav>
</header>
<main>
<h1>${pageTitles[page]}</h1>
${body}
</main>
</body>
</html>
`.markup
}
