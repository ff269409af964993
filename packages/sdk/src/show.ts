const LONGEST_VALUE = 100

/**
 * Formats a value from outside for a log: quoted, cut, and in printable ASCII, so that it cannot end its line or begin another.
 */
export function show(value: unknown): string {
  return typeof value === 'string' && value ? escapeControls(JSON.stringify(value.slice(0, LONGEST_VALUE))) : kindOf(value)
}

/** Returns the kind of a value, for values that may be personal. */
export function kindOf(value: unknown): string {
  if (value === '') return 'an empty string'
  return Array.isArray(value) ? 'a list' : value === null ? 'null' : typeof value
}

export function escapeControls(text: string): string {
  return text.replace(/[^ -~]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
