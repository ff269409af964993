// The server of the first release, as `npm run build` packed it, with the currently installed dependencies.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const archive = fileURLToPath(new URL('../fixtures/server-0001.tar.gz', import.meta.url))
/** Inside the package, so that Node finds the modules that the server imports. */
const modules = fileURLToPath(new URL('../../packages/server/node_modules/', import.meta.url))

/** Unpacks the released server and returns the file that starts it. */
export function releasedServer(): string {
  const key = createHash('sha256').update(readFileSync(archive)).digest('hex').slice(0, 16)
  const unpacked = join(modules, `.released-server-${key}`)
  if (!existsSync(unpacked)) {
    const staging = mkdtempSync(join(modules, '.released-server-'))
    const { status, stderr } = spawnSync('tar', ['-xzf', archive, '-C', staging], { encoding: 'utf8' })
    if (status !== 0) throw new Error(`cannot unpack ${archive}: ${stderr}`)
    // Another run may have unpacked it in the meantime.
    if (existsSync(unpacked)) rmSync(staging, { recursive: true })
    else renameSync(staging, unpacked)
  }
  return join(unpacked, 'dist', 'gatehouse.js')
}
