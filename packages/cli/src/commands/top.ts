import { parsePast } from '../command-line/duration.ts'
import { endings, usageFailure } from '../command-line/exit-codes.ts'
import { text } from '../command-line/options.ts'
import { openScreen, type Screen } from '../live/screen.ts'
import { Watch } from '../live/watch.ts'
import { readStats } from '../nouns/stats.ts'
import { record } from '../output/render.ts'
import { command } from '../tools/command.ts'

export const top = command({
  path: 'top',
  options: {
    since: text('TIME', 'Count logins since then: 10m, 6h or a time, at most 7 days ago. Default: 1h'),
  },
  summary: 'Watch the service: logins by outcome, failing addresses, locks, messages waiting to be sent',
  description:
    'Refreshes the screen every 2 seconds. The arrow keys choose a line. Enter opens its list, and from there the events behind a row. ' +
    'Esc goes back, q quits. Needs a terminal; with --json it prints the figures once.',
  examples: ['top', 'top --since 10m', 'top --json'],
  formats: { all: ['table', 'json'], terminal: 'table', pipe: 'table' },
  async run(tools, input) {
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
    let screen: Screen | undefined
    const watch = new Watch({
      ...{ api, stats, since, sleep: tools.sleep, where: tools.place() },
      show: (lines) => screen?.show(lines.map(({ text, style }) => (style === undefined ? text : io.style(style, text)))),
      // One more line would make the terminal scroll.
      room: () => ({ width: terminal.stdout.columns, height: terminal.stdout.rows - 1 }),
    })
    screen = openScreen(terminal, (key) => {
      if (key !== 'quit' && key !== 'interrupt') return watch.press(key)
      screen?.close()
      tools.leave(endings[key === 'quit' ? 'done' : 'interrupted'].exit)
    })
    terminal.stdout.on('resize', () => watch.redraw())
    try {
      return await watch.run()
    } finally {
      screen.close()
    }
  },
})
