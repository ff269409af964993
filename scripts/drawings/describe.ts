/** What a text in docs/pictures says about a drawing. */
export interface Description {
  kind: string
  title: string
  lines: string[]
}

/** Reads the text: the kind and the title first, then one part a line. A line that begins with # says something to its author. */
export function describe(source: string): Description {
  const [kind = '', title = '', ...lines] = source.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return { kind: kind.replace(/^kind: /, ''), title: title.replace(/^title: /, ''), lines }
}
