import { Unicode11Addon } from '@xterm/addon-unicode11'
import xterm from '@xterm/headless'

export interface Screen {
  /** All lines, including those that have scrolled out of the window. The continuation of a wrapped line begins with `↩`. */
  lines: string[]
  /** The colours of the first line that contains a text, one for each word: `-`, `bold`, or a palette number. */
  coloursOf(text: string): string[]
}

/** What a terminal with `columns` columns shows after it has received `sent`. */
export async function drawScreen(sent: string, columns: number): Promise<Screen> {
  const terminal = new xterm.Terminal({ cols: columns, rows: 24, scrollback: 10_000, allowProposedApi: true })
  terminal.loadAddon(new Unicode11Addon())
  terminal.unicode.activeVersion = '11'
  await new Promise<void>((resolve) => terminal.write(sent, resolve))
  const buffer = terminal.buffer.active
  const rows = Array.from({ length: buffer.length }, (_, row) => buffer.getLine(row)!)
  const lines = rows.map((row) => (row.isWrapped ? '↩' : '') + row.translateToString(true))
  while (lines.at(-1) === '') lines.pop()
  return {
    lines,
    coloursOf(text) {
      const row = rows[lines.findIndex((line) => line.includes(text))]
      if (!row) throw new Error(`nothing shows "${text}":\n${lines.join('\n')}`)
      const words: string[] = []
      let before = ' '
      for (let column = 0; column < row.length; column += 1) {
        const cell = row.getCell(column)!
        const character = cell.getWidth() === 0 ? before : cell.getChars() || ' '
        const colour = cell.isFgDefault() ? (cell.isBold() ? 'bold' : '-') : String(cell.getFgColor())
        if (character !== ' ' && before === ' ') words.push(colour)
        before = character
      }
      return words
    },
  }
}
