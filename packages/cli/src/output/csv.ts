import { escapeControls, toJson } from '../text/escape-controls.ts'

/** Formats a line of CSV (RFC 4180). */
export function csvLine(values: readonly unknown[]): string {
  return `${values.map((value) => quoted(harmless(textOf(value)))).join(',')}\r\n`
}

/** Entries of a list are separated by semicolons. Null and undefined are empty. */
function textOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (Array.isArray(value)) return value.map((entry) => harmless(textOf(entry))).join(';')
  return typeof value === 'object' ? toJson(value) : escapeControls(String(value))
}

/** Where a cell begins: at the start, and after a semicolon, which many spreadsheets take for the separator. */
const cellStart = /(?<=^|;)\s*[=+@\-＝＋－＠]/g

/**
 * Spreadsheets run text that begins like a formula, and users choose their own names. A quote in front turns it into plain text.
 */
function harmless(text: string): string {
  if (/^[+-]?[\d.]+$/.test(text)) return text
  return text.replace(cellStart, (start) => `'${start}`)
}

function quoted(text: string): string {
  return /[",;]|^ | $/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
