import { escapeHtml } from '../lib/html.ts'
import { shownAsciiName, shownName } from '../lib/shown-name.ts'

/** The parts of a mail as they are sent. All of them are printable ASCII. */
export interface MailText {
  subject: string
  text: string
  html: string
}

type Part = string | { link: string; label: string }

/** What a template returns: paragraphs and links, each link on a separate line. */
export interface MailDraft {
  subject: string
  parts: readonly Part[]
}

/** Prepares a name that others chose for use in a sentence. The text part shows `fallback` if ASCII cannot show the name. */
export type ShowName = (name: string, fallback: string) => string

const columns = 72

/**
 * Renders a template twice: as text with names in ASCII, and as HTML with names as they are. Links are ASCII URLs. The HTML
 * escapes everything that a template returns, names included.
 */
export function renderMail(template: (show: ShowName) => MailDraft): MailText {
  const plain = template((name, fallback) => shownAsciiName(name) ?? fallback)
  const rich = template((name) => shownName(name))
  return { subject: plain.subject, text: textOf(plain), html: htmlOf(rich) }
}

function textOf({ parts }: MailDraft): string {
  return parts.map((part) => `${typeof part === 'string' ? wrap(part) : part.link}\n`).join('\n')
}

/** Wraps text at a width. A longer word gets a separate line. */
function wrap(paragraph: string): string {
  const lines: string[] = []
  for (const word of paragraph.split(' ')) {
    const last = lines.at(-1)
    if (last === undefined || last.length + 1 + word.length > columns) lines.push(word)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines.join('\n')
}

function htmlOf({ subject, parts }: MailDraft): string {
  const body = parts.map((part) => `<p>${typeof part === 'string' ? escapeHtml(part) : anchor(part)}</p>\n`).join('')
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${escapeHtml(subject)}</title></head>
<body style="max-width: 36em; font-family: sans-serif; line-height: 1.5">
${body}</body>
</html>
`
}

function anchor({ link, label }: { link: string; label: string }): string {
  return `<a href="${escapeHtml(link)}">${escapeHtml(label)}</a>`
}
