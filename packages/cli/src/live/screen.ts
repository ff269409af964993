import type { KeyName } from './watch.ts'

export interface Screen {
  /** Redraws everything. The lines must fit the terminal, and leave its last row free. They may hold colours. */
  show(lines: readonly string[]): void
  /** Restores the terminal. */
  close(): void
}

const esc = '\u001b'

/** What a terminal sends for the keys. Others are ignored. */
const keys: Record<string, KeyName | 'quit' | 'interrupt'> = {
  ...{ k: 'up', [`${esc}[A`]: 'up', [`${esc}OA`]: 'up', j: 'down', [`${esc}[B`]: 'down', [`${esc}OB`]: 'down' },
  ...{
    [esc]: 'back',
    [`${esc}[D`]: 'back',
    [`${esc}OD`]: 'back',
    [`${esc}[3~`]: 'back',
    '\u007f': 'back',
    '\b': 'back',
  },
  ...{ '\r': 'enter', '\n': 'enter', q: 'quit', '\u0003': 'interrupt' },
}
/** An escape sequence, or one character: keys that are typed quickly arrive together. */
const typedKey = new RegExp(`${esc}(?:\\[[\\d;]*.|O.)?|.`, 'gsu')

/** The alternate screen leaves the content of the main one in place. */
const open = `${esc}[?1049h${esc}[?25l`
const restored = `${esc}[?25h${esc}[?1049l`
const home = `${esc}[H`
const clearLine = `${esc}[2K`
const clearBelow = `${esc}[J`

/** Takes over the terminal: reads every key, and draws on the alternate screen. */
export function openScreen(
  { stdin, stdout }: { stdin: NodeJS.ReadStream; stdout: NodeJS.WriteStream },
  onKey: (key: KeyName | 'quit' | 'interrupt') => void,
): Screen {
  const read = (typed: string) => {
    for (const [key] of typed.matchAll(typedKey)) if (keys[key]) onKey(keys[key])
  }
  let isOpen = true
  const close = () => {
    if (!isOpen) return
    isOpen = false
    stdin.off('data', read).pause().setRawMode(false)
    stdout.write(restored)
    for (const signal of signals) process.off(signal, stop)
  }
  const signals = ['SIGTERM', 'SIGHUP'] as const
  const stop = (signal: NodeJS.Signals) => {
    close()
    process.kill(process.pid, signal)
  }
  for (const signal of signals) process.once(signal, stop)
  stdin.setRawMode(true).setEncoding('utf8').on('data', read).resume()
  stdout.write(open)
  return {
    // A line is cleared before it is written: afterwards, the cursor may stand on its last character.
    show: (lines) => {
      if (isOpen) stdout.write(`${home}${lines.map((line) => `${clearLine}${line}\r\n`).join('')}${clearBelow}`)
    },
    close,
  }
}
