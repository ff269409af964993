// The server of the next version, packed: the present one with a later version number and one more migration.
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { version } from '../../packages/server/src/lib/version.ts'
import { npmPack, unpack } from './npm-pack.ts'

/** Inside the package, so that Node finds the modules that the server imports. */
const modules = fileURLToPath(new URL('../../packages/server/node_modules/', import.meta.url))

export const nextMigration = '0099-next'

/** What the next version has where this one has what stands before it. */
const changes: [present: RegExp, next: string][] = [
  [new RegExp(`version: "${version.replaceAll('.', '\\.')}"`), 'version: "99.0.0"'],
  [
    /("\d{4}-[a-z-]+": \w+_exports\n)(\s*\},\n\s*checksums)/,
    `$1, "${nextMigration}": { oldestVersion: "${version}", up: (db) => db.schema.alterTable("users", (t) => t.text("nickname")) }\n$2`,
  ],
  [/("\d{4}-[a-z-]+": "[0-9a-f]{64}"\n)(\};)/, `$1, "${nextMigration}": "next"\n$2`],
]

/** Packs the next server and returns the file that starts it, and what removes it. */
export function packNextServer(): { program: string; remove(): void } {
  const folder = mkdtempSync(join(modules, '.next-server-'))
  const remove = () => rmSync(folder, { recursive: true })
  unpack(npmPack('server', folder), folder)
  const files = globSync('dist/*.js', { cwd: folder }).map((file) => join(folder, file))
  for (const [present, next] of changes) {
    const changed = files.filter((file) => present.test(readFileSync(file, 'utf8')))
    if (changed.length !== 1) throw new Error(`${present} matches in ${changed.length} files of the packed server`)
    writeFileSync(changed[0]!, readFileSync(changed[0]!, 'utf8').replace(present, next))
  }
  return { program: join(folder, 'dist', 'gatehouse.js'), remove }
}
