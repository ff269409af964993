const plainWord = /^[\w@%+=:,./-]+$/

/** A command line as one would type it in a shell. */
export function toCommandLine(words: readonly string[]): string {
  return words.map((word) => (plainWord.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(' ')
}
