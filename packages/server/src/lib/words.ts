/** Splits the result of `string_agg(code, ' ')`, which is null without rows, and sorts it: a database does it at a higher price. */
export function wordsIn(text: string | null): string[] {
  return text === null ? [] : text.split(' ').sort()
}
