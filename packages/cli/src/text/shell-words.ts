const plainWord = /^[\w@%+=:,./-]+$/

/** Joins words to a command line that can be typed in a shell. */
export function toCommandLine(words: readonly string[]): string {
  return words.map((word) => (plainWord.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(' ')
}
