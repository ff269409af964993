/** Splits the result of `string_agg(code, ' ')`, which is null without rows. */
export function wordsIn(text: string | null): string[] {
  return text === null ? [] : text.split(' ')
}
