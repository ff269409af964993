// The only file that loads Ink: it takes longer to load than everything else, so `top` imports it when it has something to show.
import { Box, type Key, render, Text, useInput } from 'ink'
import { createElement } from 'react'

export interface InkScreen {
  /** Each line no wider than the terminal; it may hold colours. */
  show(lines: readonly string[]): void
  /** Gives the terminal back as it was. */
  close(): void
}

interface FrameProps {
  lines: readonly string[]
  onKey: (input: string, key: Key) => void
}

function Frame({ lines, onKey }: FrameProps) {
  useInput(onKey)
  return createElement(
    Box,
    { flexDirection: 'column' },
    lines.map((line, index) => createElement(Text, { key: index, wrap: 'truncate' }, line === '' ? ' ' : line)),
  )
}

/** Takes the terminal: another screen, which leaves what was on it before, and every key. */
export function openScreen(
  { stdin, stdout }: { stdin: NodeJS.ReadStream; stdout: NodeJS.WriteStream },
  onKey: FrameProps['onKey'],
): InkScreen {
  const frame = (lines: readonly string[]) => createElement(Frame, { lines, onKey })
  const options = { stdin, stdout, exitOnCtrlC: false, patchConsole: false, alternateScreen: true }
  const app = render(frame([]), options)
  return {
    show: (lines) => app.rerender(frame(lines)),
    close: () => app.unmount(),
  }
}
