import { usageFailure } from '../command-line/exit-codes.ts'
import { count } from '../command-line/options.ts'
import { readStats } from '../nouns/stats.ts'
import { toJson } from '../text/escape-controls.ts'
import { command } from '../tools/command.ts'

export const dashboard = command({
  path: 'dashboard',
  options: { port: count('PORT', 'Port to listen on. Default: a free one') },
  summary: 'Show users, sessions, grants, audit and webhooks in your browser, until Ctrl-C',
  description:
    'Serves read-only pages on 127.0.0.1 only, with your session, and prints their address. Anyone with the address sees what you may ' +
    'see, so it contains a token that is valid as long as the command runs. Open it yourself: programs that open a browser show it to ' +
    'other users of this machine.',
  examples: ['dashboard', 'dashboard --context production', 'dashboard --port 8090 --json'],
  formats: { all: ['table', 'json'], terminal: 'table', pipe: 'table' },
  async run(tools, { port = 0 }) {
    const { io, settings, now } = tools
    if (port > 65_535) throw usageFailure(`--port ${port} is not a valid port`, 'from 1 to 65535')
    const api = tools.watchingApi
    // Fails here, not in the browser, if the user is not signed in.
    await readStats(api, undefined)
    const { serveDashboard } = await import('../dashboard/serve-dashboard.ts')
    const url = await serveDashboard({ api, now, where: tools.place() }, port)
    io.print(settings.format === 'json' ? toJson({ url }) : url)
    io.note('read-only, and only for you; Ctrl-C ends it')
    return new Promise(() => {})
  },
})
