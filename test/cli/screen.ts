import { UnicodeGraphemesAddon } from '@xterm/addon-unicode-graphemes'
import xterm from '@xterm/headless'

export interface Screen {
  /** Each line as it stands there, also those that have left the window. A line that did not fit goes on with `↩`. */
  lines: string[]
  /** The colours of the line in which a text stands first, one for each word: `-`, `bold`, or a number of the palette. */
  coloursOf(text: string): string[]
}

/** What a terminal of so many columns shows after it was sent this. */
export async function drawScreen(sent: string, columns: number): Promise<Screen> {
  const terminal = new xterm.Terminal({ cols: columns, rows: 24, scrollback: 10_000, allowProposedApi: true })
  terminal.loadAddon(new UnicodeGraphemesAddon())
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
