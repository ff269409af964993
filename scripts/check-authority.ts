// Checks that what one file of the server decides or reads is not decided or read elsewhere:
// - The role of admins: `lib/authority.ts` decides what its holders may do. The literal is left to the roles, to the seed, and to
//   routes, which declare the kind of caller that they take.
// - The query and the `Accept` header: `http/read-request.ts` bounds them. Koa's own parsers take time that grows with the square
//   of their length.
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const source = join(dirname(dirname(fileURLToPath(import.meta.url))), 'packages/server/src')
const rules = [
  {
    form: /(['"])(?:system_admin|auditor|help_desk)\1/,
    mayHave: /^lib\/authority\.ts$|^resources\/roles\/|^db\/|^http\/|\/routes\.ts$/,
    fault: 'names the role itself; ask lib/authority.ts',
  },
  {
    form: /\bctx\.(?:request\.)?(?:query(?:string)?|search|URL)\b/,
    mayHave: /^$/,
    fault: 'lets Koa parse the query; call readQuery of http/read-request.ts',
  },
  {
    form: /\bctx\.(?:request\.)?accepts\w*\(/,
    mayHave: /^http\/read-request\.ts$/,
    fault: 'lets Koa parse a header of any length; call prefersHtml of http/read-request.ts',
  },
]

for (const file of globSync('**/*.ts', { cwd: source }).sort()) {
  if (file.endsWith('.test.ts')) continue
  for (const [index, line] of readFileSync(join(source, file), 'utf8').split('\n').entries()) {
    if (/^\s*(?:\/\/|\*|\/\*)/.test(line)) continue
    for (const { form, mayHave, fault } of rules) {
      if (mayHave.test(file) || !form.test(line)) continue
      console.error(`${file}:${index + 1} ${fault}: ${line.trim()}`)
      process.exitCode = 1
    }
  }
}
