// Measures the processor time of a server for the dearest requests that a stranger can send, at their largest size. It answers
// nothing else meanwhile. Of each kind of input, the dearest one is a figure.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Children } from '../../scripts/children.ts'
import { send, worstInputs } from '../support/worst-inputs.ts'
import { record } from './support/results.ts'
import { cpuMs, median, startGatehouse, usualSettings } from './support/server-under-test.ts'

const rounds = 9
/** The kernel counts processor time in steps of 10 ms. */
const requestsARound = 10
const boundMs = 50

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'))
const children = new Children()
try {
  const settings = { DATABASE_URL: `sqlite:${join(folder, 'bench.db')}`, AUTH_MAIL_DIR: folder, AUTH_TRUST_PROXY: '3' }
  const server = await startGatehouse(children, { ...usualSettings, ...settings })
  const port = Number(new URL(server.url).port)
  const dearest = new Map<string, { name: string; ms: number }>()
  for (const input of worstInputs('authctl')) {
    const times: number[] = []
    for (let round = 0; round <= rounds; round += 1) {
      const before = cpuMs(server)
      for (let i = 0; i < requestsARound; i += 1) await send(port, input.request(input.largest))
      if (round > 0) times.push((cpuMs(server) - before) / requestsARound)
    }
    const ms = median(times)
    console.log(`  ${input.name}: ${ms.toFixed(1)} ms`)
    const kind = input.name.replace(/[: ].*/, '')
    if (ms > (dearest.get(kind)?.ms ?? 0)) dearest.set(kind, { name: input.name, ms })
  }
  for (const { name, ms } of dearest.values())
    record({ what: `the dearest request of a kind; ${name}`, ours: ms, unit: 'ms CPU', better: 'lower', bound: boundMs })
} finally {
  await children.stopAll()
  rmSync(folder, { recursive: true })
}
