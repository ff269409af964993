// Checks that no door of the server reads the role of admins by itself: `lib/authority.ts` decides what its holders may do. The
// literal is left to the roles, to the seed, and to routes, which declare the kind of caller that they take.
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const source = join(dirname(dirname(fileURLToPath(import.meta.url))), 'packages/server/src')
const mayName = /^lib\/authority\.ts$|^resources\/roles\/|^db\/|^http\/|\/routes\.ts$|\.test\.ts$/

for (const file of globSync('**/*.ts', { cwd: source }).sort()) {
  if (mayName.test(file)) continue
  for (const [index, line] of readFileSync(join(source, file), 'utf8').split('\n').entries()) {
    if (!/(['"])system_admin\1/.test(line)) continue
    console.error(`${file}:${index + 1} names the role itself; ask lib/authority.ts: ${line.trim()}`)
    process.exitCode = 1
  }
}
