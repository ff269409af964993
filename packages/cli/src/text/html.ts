import { escapeControls } from './escape-controls.ts'

/** Markup that is safe to send. `html` makes it, and escapes what is put into it. */
export class Html {
  readonly markup: string

  constructor(markup: string) {
    this.markup = markup
  }
}

/** A value in an `html` template. Undefined renders as nothing. */
export type HtmlPart = Html | string | number | undefined | readonly HtmlPart[]

/** Builds markup. Escapes text, for a place between tags or in a quoted attribute. */
export function html(strings: TemplateStringsArray, ...parts: readonly HtmlPart[]): Html {
  return new Html(strings.reduce((before, after, index) => before + markupOf(parts[index - 1]) + after))
}

function markupOf(part: HtmlPart): string {
  if (part === undefined) return ''
  if (part instanceof Html) return part.markup
  if (typeof part === 'number') return String(part)
  if (typeof part === 'string') return escapeHtml(part)
  return part.map(markupOf).join('')
}

/** Characters that hide or reorder text are shown as escapes, as on a terminal. */
function escapeHtml(text: string): string {
  return escapeControls(text).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
