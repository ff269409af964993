import { type Html, html } from '../text/html.ts'

/** The values of the search fields, by name. Empty fields are left out. */
export type Asked = Readonly<Record<string, string>>

export interface Field {
  name: string
  label: string
  /** The choices. Without them, the field takes any text. */
  options?: readonly string[]
  example?: string
}

/** A form that opens the same page with the typed values in its query. */
export function searchForm(page: string, fields: readonly Field[], asked: Asked): Html {
  const rows = fields.map((field) => {
    const { name, label } = field
    return html`<div><label for="${name}">${label}</label>${field.options ? choiceOf(field, asked[name]) : inputOf(field, asked[name])}</div>\n`
  })
  return html`<form method="get" action="./${page}" role="search">
${rows}<div><button>Search</button></div>
</form>`
}

function inputOf({ name, example }: Field, value = ''): Html {
  const placeholder = example === undefined ? '' : html` aria-describedby="${name}-example"`
  const told = example === undefined ? '' : html`<span class="quiet" id="${name}-example">${example}</span>`
  return html`<input id="${name}" name="${name}" value="${value}" autocomplete="off" spellcheck="false"${placeholder}>${told}`
}

function choiceOf({ name, options = [] }: Field, chosen = ''): Html {
  const shown = ['', ...options].map((option) => {
    const selected = option === chosen ? html` selected` : ''
    return html`<option value="${option}"${selected}>${option === '' ? 'any' : option}</option>`
  })
  return html`<select id="${name}" name="${name}">${shown}</select>`
}

/** The relative URL of a page with these field values. */
export function linkTo(page: string, asked: Record<string, string | null | undefined>): string {
  const given = Object.entries(asked).filter((entry): entry is [string, string] => Boolean(entry[1]))
  return `./${page}${given.length === 0 ? '' : `?${new URLSearchParams(given)}`}`
}
