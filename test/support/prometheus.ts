// A real Prometheus that scrapes the servers of a test and evaluates the alarms of deploy/, in shorter time.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { callHttp, type Json } from './client.ts'
import { unpackFromDebian } from './debian-packages.ts'
import { readYaml } from './deployment-files.ts'
import { freePort } from './free-port.ts'

const rulesFile = 'deploy/prometheus/gatehouse.rules.yaml'
const startTimeoutMs = 60_000

export interface AlarmRule {
  alert: string
  expr: string
  for?: string
  labels: { severity: string }
  annotations: { summary: string; runbook: string }
}

export const alarmRules: AlarmRule[] = readYaml(rulesFile).groups.flatMap(({ rules }: Json) => rules)

/** The programs, installed or unpacked from Debian. Throws a one-line error if there are none and they cannot be fetched. */
export async function providePrometheus(): Promise<{ prometheus: string; promtool: string }> {
  const isInstalled = ['prometheus', 'promtool'].every((name) => spawnSync(name, ['--version']).status === 0)
  const folder = isInstalled ? '' : join(await unpackFromDebian('prometheus', ['prometheus'], '40 MB'), 'usr/bin/')
  return { prometheus: `${folder}prometheus`, promtool: `${folder}promtool` }
}

const unitMs: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

function dividedDuration(text: string, factor: number): string {
  const [, count, unit] = /^(\d+)([smhd])$/.exec(text)!
  return `${Math.round((Number(count) * unitMs[unit!]!) / factor)}ms`
}

/**
 * The rule with each of its durations divided by `factor`: the ranges, the offsets, `for`, and the age that a gauge in seconds is
 * compared with. A latency stays: its buckets do not shrink.
 */
export function divided(rule: AlarmRule, factor: number): AlarmRule {
  const expr = rule.expr
    .trim()
    .replace(/(\[|\boffset )(\d+[smhd])\b/g, (_, before, duration) => before + dividedDuration(duration, factor))
  const isAge = /_seconds\b/.test(expr)
  return {
    ...rule,
    expr: isAge ? `${expr} / ${factor}` : expr,
    ...(rule.for && { for: dividedDuration(rule.for, factor) }),
  }
}

export interface ScrapedJob {
  job_name: string
  targets: string[]
  everyMs: number
}

export interface Prometheus {
  /** The alarms that fire now. */
  firing(): Promise<{ alert: string; job: string; labels: Record<string, string> }[]>
  /** Every alarm that has fired since the start, with the job that it was about. */
  everFired(): Promise<{ alert: string; job: string }[]>
  stop(): Promise<void>
}

export async function startPrometheus(rules: AlarmRule[], jobs: readonly ScrapedJob[]): Promise<Prometheus> {
  const { prometheus } = await providePrometheus()
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-prometheus-'))
  // JSON is valid YAML.
  const write = (name: string, content: Json) => writeFileSync(join(folder, name), JSON.stringify(content))
  write('rules.yaml', { groups: [{ name: 'gatehouse', interval: '500ms', rules }] })
  write('prometheus.yaml', {
    rule_files: ['rules.yaml'],
    scrape_configs: jobs.map(({ job_name, targets, everyMs }) => ({
      job_name,
      scrape_interval: `${everyMs}ms`,
      scrape_timeout: `${everyMs}ms`,
      static_configs: [{ targets }],
    })),
  })
  const port = await freePort()
  const supervisor = supervise(folder, [
    prometheus,
    '--config.file=prometheus.yaml',
    '--storage.tsdb.path=data',
    `--web.listen-address=127.0.0.1:${port}`,
  ])
  const ask = async (path: string): Promise<Json> => {
    const { status, body } = await callHttp(`http://127.0.0.1:${port}/api/v1/${path}`, 'GET')
    if (status !== 200) throw new Error(`Prometheus answers ${status}: ${JSON.stringify(body)}`)
    return body.data
  }
  const ended = new Promise<void>((resolve) => supervisor.once('close', () => resolve()))
  const stop = async () => {
    supervisor.stdin!.end()
    await ended
  }
  const query = async (expr: string): Promise<Json[]> => (await ask(`query?query=${encodeURIComponent(expr)}`)).result
  // An increase needs a sample from before it.
  const servers = jobs.reduce((sum, { targets }) => sum + targets.length, 0)
  const isWatching = async () =>
    Number((await query('count(count_over_time(gatehouse_build_info[1m]) > 1)'))[0]?.value[1]) === servers
  const givenUpAt = Date.now() + startTimeoutMs
  while (!(await isWatching().catch(() => false))) {
    if (supervisor.exitCode !== null || Date.now() > givenUpAt) {
      const log = readFileSync(join(folder, 'log'), 'utf8')
      await stop()
      throw new Error(`Prometheus does not see ${servers} servers:\n${log.slice(-2_000)}`)
    }
    await sleep(50)
  }
  return {
    async firing() {
      const { alerts } = await ask('alerts')
      return alerts
        .filter(({ state }: Json) => state === 'firing')
        .map(({ labels }: Json) => ({ alert: labels.alertname, job: labels.job ?? '', labels }))
    },
    async everFired() {
      const fired = await query('count by (alertname, job) (count_over_time(ALERTS{alertstate="firing"}[1h]))')
      return fired.map(({ metric }: Json) => ({ alert: metric.alertname, job: metric.job ?? '' }))
    },
    stop,
  }
}

/** Runs a program in the folder. Once its stdin is closed, even by the end of this process, ends it and removes the folder. */
function supervise(folder: string, command: readonly string[]): ChildProcess {
  const script = '(cd "$1" && shift && exec "$@" </dev/null >log 2>&1) & cat >/dev/null; kill -9 $!; wait; rm -rf "$1"'
  return spawn('sh', ['-c', script, 'sh', folder, ...command], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
}
