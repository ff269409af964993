import { escapeControls, toJson } from '../text/escape-controls.ts'

/** Formats a line of CSV (RFC 4180). */
export function csvLine(values: readonly unknown[]): string {
  return `${values.map((value) => quoted(harmless(textOf(value)))).join(',')}\r\n`
}

/** Entries of a list are separated by semicolons. Null and undefined are empty. */
function textOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (Array.isArray(value)) return value.map(textOf).join(';')
  return typeof value === 'object' ? toJson(value) : escapeControls(String(value))
}

/**
 * Spreadsheets run text that begins like a formula, and users choose their own names. A quote in front turns it into plain text.
 */
function harmless(text: string): string {
  return /^[=+@-]/.test(text) && !/^[+-]?[\d.]+$/.test(text) ? `'${text}` : text
}

function quoted(text: string): string {
  return /[",;]|^ | $/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
