import type { Language } from './locale.ts'

/** Markup that is safe to send. `html` makes it, and escapes every text that is put into it. */
export class Html {
  readonly markup: string

  constructor(markup: string) {
    this.markup = markup
  }
}

/** What you can put into an `html` template. False, undefined and null become nothing. */
export type HtmlPart = Html | string | number | false | undefined | null | readonly HtmlPart[]

/** Builds markup from a template. Escapes texts, for a place between tags or in a quoted attribute, and keeps `Html` as it is. */
export function html(strings: TemplateStringsArray, ...parts: readonly HtmlPart[]): Html {
  return new Html(strings.reduce((before, after, index) => before + markupOf(parts[index - 1]) + after))
}

function markupOf(part: HtmlPart): string {
  if (part === undefined || part === null || part === false) return ''
  if (part instanceof Html) return part.markup
  if (typeof part === 'string' || typeof part === 'number') return escapeHtml(String(part))
  return part.map(markupOf).join('')
}

/** Escapes a text for a place between tags or in a quoted attribute. Non-ASCII characters become numeric references. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']|[^\n\x20-\x7e]/gu, (character) => `&#${character.codePointAt(0)};`)
}

/** The app or organization that a page is about, and how it looks. */
export interface PagePlace {
  name: string
  /** Shown in place of a name of which nothing is visible. */
  code: string
  /** `#rrggbb`. */
  accentColor?: string | null
  /** The path of an image of this service. */
  logo?: string | null
  /** Where people get help, and what they agree to. */
  links?: readonly { kind: 'help' | 'terms' | 'privacy'; url: string }[]
  /** Where the app itself is. */
  home?: string | null
  /** The language of a reader who has named none that there is. */
  language?: Language | null
}

/** A page to show to a person. */
export interface PageView {
  status: number
  language: Language
  /** The only heading, and the title in the browser. */
  title: string
  /** The app or organization that the page is about. */
  place?: PagePlace | undefined
  /** Everything below the heading. */
  body: Html
  /** The URLs outside this service that the answer to its form may redirect to. */
  leadsTo?: readonly string[]
  /** The URL of a script of this service that the page loads. */
  script?: string | undefined
  /** Seconds; sent as `Retry-After`. */
  retryAfter?: number | undefined
}
