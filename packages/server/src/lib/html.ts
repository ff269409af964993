/** Markup that is safe to send: made by `html`, which escapes whatever is put into it. */
export class Html {
  readonly markup: string

  constructor(markup: string) {
    this.markup = markup
  }
}

/** What `html` takes between its own markup; what is not there leaves nothing. */
export type HtmlPart = Html | string | number | false | undefined | null | readonly HtmlPart[]

/** Puts markup together: texts are escaped, for a place between tags or in a quoted attribute, and what is markup already stays. */
export function html(strings: TemplateStringsArray, ...parts: readonly HtmlPart[]): Html {
  return new Html(strings.reduce((before, after, index) => before + markupOf(parts[index - 1]) + after))
}

function markupOf(part: HtmlPart): string {
  if (part === undefined || part === null || part === false) return ''
  if (part instanceof Html) return part.markup
  if (typeof part === 'string' || typeof part === 'number') return escapeHtml(String(part))
  return part.map(markupOf).join('')
}

/** Safe as text and in a quoted attribute; what is not ASCII becomes a numeric reference. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']|[^\n\x20-\x7e]/gu, (character) => `&#${character.codePointAt(0)};`)
}
