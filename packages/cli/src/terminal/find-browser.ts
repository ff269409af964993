/** Opens a page. Calls `onFailure` if that did not work, which may also become known later. */
export type OpenBrowser = (url: string, onFailure: () => void) => void

/** Finds how to open a page in the user's browser. Undefined without a display, and over SSH, where the browser is elsewhere. */
export function findBrowser(
  env: Record<string, string | undefined>,
  platform: NodeJS.Platform = process.platform,
): OpenBrowser | undefined {
  const command = commandFor(env, platform)
  if (!command) return undefined
  const [program, ...words] = command
  return (url, onFailure) => {
    // Loaded late, since most commands open nothing. Without a shell, so that nothing in the URL is a command. The browser goes on
    // when authctl ends.
    process
      .getBuiltinModule('node:child_process')
      .spawn(program, [...words, url], { stdio: 'ignore', detached: true })
      .on('error', onFailure)
      .on('exit', (code) => code !== 0 && onFailure())
      .unref()
  }
}

function commandFor(
  { SSH_CONNECTION, SSH_TTY, DISPLAY, WAYLAND_DISPLAY }: Record<string, string | undefined>,
  platform: NodeJS.Platform,
): [program: string, ...words: string[]] | undefined {
  if (SSH_CONNECTION || SSH_TTY) return undefined
  if (platform === 'darwin') return ['open']
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler']
  return DISPLAY || WAYLAND_DISPLAY ? ['xdg-open'] : undefined
}
