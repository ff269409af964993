import { escapeControls, toJson } from '../text/escape-controls.ts'

/** A line of RFC 4180. */
export function csvLine(values: readonly unknown[]): string {
  return `${values.map((value) => quoted(harmless(textOf(value)))).join(',')}\r\n`
}

/** Entries of a list are separated by semicolons, and what there is not is empty. */
function textOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (Array.isArray(value)) return value.map(textOf).join(';')
  return typeof value === 'object' ? toJson(value) : escapeControls(String(value))
}

/** Spreadsheets run what begins like a formula, and people choose their names. A quote before it makes it text. */
function harmless(text: string): string {
  return /^[=+@-]/.test(text) && !/^[+-]?[\d.]+$/.test(text) ? `'${text}` : text
}

function quoted(text: string): string {
  return /[",;]|^ | $/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
