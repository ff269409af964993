// Builds a page as for production and serves it on a free port. The default is the page of examples/browser-spa.
import { mkdtempSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, preview } from 'vite'

const example = fileURLToPath(new URL('../../examples/browser-spa/', import.meta.url))

export interface SpaSettings {
  /** The service that users sign in at. */
  authUrl: string
  appCode: string
  /** The backend that the page calls, if it has one. */
  apiUrl?: string
  /** Shown as "Continue with …". */
  provider?: string
  /** The folder of the page. */
  root?: string
  /** The name of this machine in the address that is returned. */
  host?: string
}

/** Builds the page for a service, serves it until the end that `onEnd` registers for, and returns its origin. */
export async function serveSpa(
  { authUrl, appCode, apiUrl, provider, root = example, host = '127.0.0.1' }: SpaSettings,
  onEnd: (fn: () => Promise<void>) => void,
): Promise<string> {
  const outDir = mkdtempSync(join(tmpdir(), 'gatehouse-spa-'))
  onEnd(async () => rmSync(outDir, { recursive: true, force: true }))
  const common = { root, logLevel: 'error', build: { outDir, emptyOutDir: true } } as const
  const env = { VITE_AUTH_URL: authUrl, VITE_APP_CODE: appCode, VITE_SSO_PROVIDER: provider ?? null }
  const define = Object.fromEntries(
    Object.entries(env).map(([name, value]) => [`import.meta.env.${name}`, JSON.stringify(value)]),
  )
  await build({ ...common, define })
  const proxy = apiUrl === undefined ? undefined : { '/api': { target: apiUrl } }
  const served = await preview({ ...common, preview: { host: '127.0.0.1', port: 0, strictPort: false, proxy } })
  onEnd(() => served.close())
  return `http://${host}:${(served.httpServer.address() as AddressInfo).port}`
}
