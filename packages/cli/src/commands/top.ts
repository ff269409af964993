import { parsePast } from '../command-line/duration.ts'
import { endings, usageFailure } from '../command-line/exit-codes.ts'
import { type Input, text } from '../command-line/options.ts'
import type { InkScreen } from '../live/ink-screen.ts'
import type { KeyName } from '../live/watch.ts'
import { readStats } from '../nouns/stats.ts'
import { type Result, record } from '../output/output.ts'
import { command } from '../tools/command.ts'
import type { Tools } from '../tools/create-tools.ts'

const options = {
  since: text('TIME', 'Count logins since then: 10m, 6h or a time, at most 7 days ago. Default: 1h'),
}

export const top = command({
  path: 'top',
  summary: 'Watch the service: logins by outcome, failing addresses, locks, messages waiting to be sent',
  description:
    'Refreshes the screen every 2 seconds. The arrow keys choose a line. Enter opens its list, and from there the events behind a row. ' +
    'Esc goes back, q quits. Needs a terminal; with --json it prints the figures once.',
  examples: ['top', 'top --since 10m', 'top --json'],
  options,
  formats: { all: ['table', 'json'], terminal: 'table', pipe: 'table' },
  run: runTop,
})

export async function runTop(tools: Tools, input: Input<typeof options>): Promise<Result> {
  const { settings, io, now } = tools
  const since = () => parsePast('--since', input.since, now())
  if (settings.format === 'json') return record(await readStats(tools.api, since()))
  const terminal = io.terminal()
  if (!terminal)
    throw usageFailure(
      'top needs a terminal',
      'authctl top --json prints the figures once; authctl audit tail follows the events',
    )
  const api = tools.watchingApi
  const stats = await readStats(api, since())
  // Without this, React runs extra checks and keeps performance measurements.
  process.env.NODE_ENV ??= 'production'
  const [{ openScreen }, { Watch }] = await Promise.all([import('../live/ink-screen.ts'), import('../live/watch.ts')])
  let screen: InkScreen | undefined
  const watch = new Watch({
    ...{ api, stats, since, sleep: tools.sleep, where: tools.place() },
    show: (lines) => screen?.show(lines.map(({ text, style }) => (style === undefined ? text : io.style(style, text)))),
    // One more line would make the terminal scroll.
    room: () => ({ width: terminal.stdout.columns, height: terminal.stdout.rows - 1 }),
  })
  screen = openScreen(terminal, (typed, key) => {
    const leave = (ending: 'done' | 'interrupted') => {
      screen?.close()
      tools.leave(endings[ending].exit)
    }
    if (key.ctrl && typed === 'c') return leave('interrupted')
    // Keys that are typed quickly arrive as one string.
    for (const character of typed === '' ? [''] : typed) {
      if (character === 'q') return leave('done')
      const name = nameOf(character, key)
      if (name !== undefined) watch.press(name)
    }
  })
  terminal.stdout.on('resize', () => watch.redraw())
  try {
    return await watch.run()
  } finally {
    screen.close()
  }
}

function nameOf(
  typed: string,
  key: Record<'upArrow' | 'downArrow' | 'leftArrow' | 'return' | 'escape' | 'backspace' | 'delete', boolean>,
): KeyName | undefined {
  if (key.upArrow || typed === 'k') return 'up'
  if (key.downArrow || typed === 'j') return 'down'
  if (key.return) return 'enter'
  if (key.escape || key.leftArrow || key.backspace || key.delete) return 'back'
  return undefined
}
