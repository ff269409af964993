/** No export comes near, and the parser takes minutes for a file ten times as large. */
const mostCharacters = 5 * 1024 * 1024

/**
 * Reads a YAML document. Its faults include what the parser only warns of: a tag that it does not know, such as `!vault`, would
 * otherwise leave the text behind it as the value.
 */
export async function readYaml(text: string) {
  const { parseDocument, LineCounter } = await import('yaml')
  const lineCounter = new LineCounter()
  const isTooLong = text.length > mostCharacters
  const document = parseDocument(isTooLong ? '' : text, { lineCounter, prettyErrors: false, logLevel: 'error' })
  const faults = [...document.errors, ...document.warnings].map(({ pos, message }) => ({
    line: lineCounter.linePos(pos[0]).line,
    message,
  }))
  if (isTooLong) faults.push({ line: 1, message: 'the file has more than 5 MiB' })
  return { document, lineCounter, faults }
}
