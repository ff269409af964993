// The only file that loads Ink, which takes longer than loading everything else. `top` imports it only when it is needed.
import { Box, type Key, render, Text, useInput } from 'ink'
import { createElement } from 'react'

export interface InkScreen {
  /** The lines must not be wider than the terminal. They may hold colours. */
  show(lines: readonly string[]): void
  /** Restores the terminal. */
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

/**
 * Takes over the terminal: reads every key, and draws on the alternate screen, which leaves the content of the main one in place.
 */
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
