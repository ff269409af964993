import { expect, test } from 'vitest'
import { findBrowser } from './find-browser.ts'

test.each([
  ['linux', {}, false],
  ['linux', { DISPLAY: ':0' }, true],
  ['linux', { WAYLAND_DISPLAY: 'wayland-0' }, true],
  ['linux', { DISPLAY: 'localhost:10.0', SSH_CONNECTION: '10.0.0.1 50000 10.0.0.2 22' }, false],
  ['freebsd', {}, false],
  ['darwin', {}, true],
  ['darwin', { SSH_TTY: '/dev/ttys001' }, false],
  ['win32', {}, true],
] as const)('on %s with %j a browser can be opened: %s', (platform, env, isFound) => {
  expect(findBrowser(env, platform) !== undefined).toBe(isFound)
})
