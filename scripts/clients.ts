// `npm run clients` signs in with every OpenID Connect client that nobody here wrote, also with those that take long to fetch, and
// writes to test/clients.md what became of each.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { clientsVariable } from '../test/support/lane.ts'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs')
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-clients-'))
const file = join(folder, 'results.json')
const words = [vitest, 'run', '--reporter=default', '--reporter=json', `--outputFile=${file}`]
const env = { ...process.env, [clientsVariable]: 'yes' }
const { status } = spawnSync(process.execPath, [...words, 'test/cli/openid-', 'test/e2e/oidc-client-ts'], {
  cwd: root,
  env,
  stdio: 'inherit',
})
const { testResults } = JSON.parse(readFileSync(file, 'utf8')) as {
  testResults: { assertionResults: { fullName: string; status: string }[] }[]
}
rmSync(folder, { recursive: true, force: true })
const rows = testResults
  .flatMap(({ assertionResults }) => assertionResults)
  .map(({ fullName, status }) => `| ${fullName} | ${status} |`)
  .sort()
const lines = [
  '# Clients that nobody here wrote',
  '',
  `Written by \`npm run clients\` on ${new Date().toISOString().slice(0, 10)}, with Node ${process.version}. Each signs in from what \`authctl app show --as\` prints.`,
  '',
  '| What was done | Result |',
  '| --- | --- |',
  ...rows,
]
writeFileSync(join(root, 'test/clients.md'), `${lines.join('\n')}\n`)
process.exit(status ?? 1)
