/** The codes in what `string_agg(code, ' ')` gave: null when there was none. */
export function wordsIn(text: string | null): string[] {
  return text === null ? [] : text.split(' ')
}
