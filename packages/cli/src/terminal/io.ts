import { once } from 'node:events'
import { text as readAll } from 'node:stream/consumers'
import { ReadStream, WriteStream } from 'node:tty'
import { styleText } from 'node:util'
import type { exchangeHttp } from '../network/exchange-http.ts'
import { escapeControls } from '../text/escape-controls.ts'
import type { OpenBrowser } from './find-browser.ts'

/** Moves to the start of the line and clears it. */
const wipeLine = '\r\u001b[K'

/** Everything that the program uses of its process. Tests pass their own. */
export interface World {
  env: Record<string, string | undefined>
  stdin: NodeJS.ReadableStream & { isTTY?: boolean }
  stdout: NodeJS.WritableStream & { isTTY?: boolean; columns?: number; writableNeedDrain?: boolean }
  stderr: NodeJS.WritableStream & { isTTY?: boolean }
  exchange: typeof exchangeHttp
  /** Milliseconds since 1970. */
  now(): number
  sleep(milliseconds: number): Promise<void>
  /** The folder with the file of the contexts. */
  configFolder: string
  /** Undefined if there is no browser to open a page in. */
  openBrowser: OpenBrowser | undefined
  /** Calls `lastWords` at Ctrl-C, right before the process ends. Returns a function that cancels this. */
  onInterrupt(lastWords: () => void): () => void
  /** Ends the program with this exit code, even if it still waits for something. */
  leave(exit: number): void
}

export interface Io {
  /** Whether it can ask questions. */
  readonly canAsk: boolean
  /** Whether standard input is a terminal, where input comes only after a question. */
  readonly inputIsTerminal: boolean
  /** Prints the result. */
  print(line: string): void
  /** Prints a part of the result. The caller ends the lines. */
  write(text: string): void
  /** Whether the result goes to a terminal. */
  readonly isTerminal: boolean
  /** Milliseconds since 1970. */
  now(): number
  /** Columns of the terminal on stdout. Infinity if stdout is not a terminal or does not report its width. */
  readonly width: number
  /**
   * The terminal, for a full-screen view with single keys. Undefined unless stdin and stdout are terminals with a movable cursor.
   */
  terminal(): { stdin: NodeJS.ReadStream; stdout: NodeJS.WriteStream } | undefined
  /** Prints a hint on stderr, unless --quiet. With JSON it waits for success, so that a failure is the only output. */
  note(line: string): void
  /** Prints the hints that were held back. Call it when the command has succeeded. */
  finish(): void
  /** Prints on stderr, even with --quiet. */
  complain(line: string): void
  /** Replaces the progress line at the bottom of stderr; undefined removes it. Only on a terminal, and not with --quiet. */
  showProgress(line: string | undefined): void
  /** Prints a picture of block characters on stderr. With colours, its dark parts stay dark on a light terminal. */
  picture(lines: string[]): void
  /** Emphasizes text if stdout shows colours. */
  style(format: 'bold' | 'dim' | 'green' | 'yellow' | 'red', text: string): string
  /** Reads all of standard input. */
  readInput(): Promise<string>
  /** Reads standard input as it arrives. */
  inputBytes(): AsyncIterable<Buffer, void, undefined>
  /** Waits until the reader of stdout has taken what was printed, or most of it. */
  drained(): Promise<void>
}

export function createIo(world: World, options: { quiet: boolean; color: boolean; canAsk: boolean; asksForJson: boolean }): Io {
  const held: string[] = []
  let progress: string | undefined
  const show = (line: string) => {
    const wiped = progress === undefined ? '' : wipeLine
    world.stderr.write(`${wiped}${escapeControls(line)}\n${progress ?? ''}`)
  }
  const paint = (format: Parameters<typeof styleText>[0], text: string, stream: { isTTY?: boolean }) => {
    const shown = options.color && Boolean(stream.isTTY) && !world.env.NO_COLOR && world.env.TERM !== 'dumb'
    return shown ? styleText(format, text, { validateStream: false }) : text
  }
  return {
    // Questions go to stderr, so that the result can be piped.
    canAsk: options.canAsk && Boolean(world.stdin.isTTY) && Boolean(world.stderr.isTTY),
    inputIsTerminal: Boolean(world.stdin.isTTY),
    isTerminal: Boolean(world.stdout.isTTY),
    now: world.now,
    print: (line) => void world.stdout.write(`${line}\n`),
    write: (text) => void world.stdout.write(text),
    width: (world.stdout.isTTY && world.stdout.columns) || Number.POSITIVE_INFINITY,
    terminal() {
      const { stdin, stdout, env } = world
      return stdin instanceof ReadStream && stdout instanceof WriteStream && env.TERM !== 'dumb' ? { stdin, stdout } : undefined
    },
    note: (line) => {
      if (options.quiet) return
      if (options.asksForJson) held.push(line)
      else show(line)
    },
    finish: () => {
      for (const line of held.splice(0)) show(line)
    },
    complain: show,
    showProgress: (line) => {
      if (options.quiet || !world.stderr.isTTY || world.env.TERM === 'dumb' || line === progress) return
      world.stderr.write(`${progress === undefined ? '' : wipeLine}${line ?? ''}`)
      progress = line
    },
    picture: (lines) => {
      for (const line of lines) world.stderr.write(`${paint(['whiteBright', 'bgBlack'], line, world.stderr)}\n`)
    },
    style: (format, text) => paint(format, text, world.stdout),
    readInput: () => readAll(world.stdin),
    inputBytes: () => world.stdin as AsyncIterable<Buffer, void, undefined>,
    drained: async () => {
      if (world.stdout.writableNeedDrain) await once(world.stdout, 'drain')
    },
  }
}
