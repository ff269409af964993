// The alarms and the dashboard in deploy/ only use metrics that /metrics has.
import { beforeAll, describe, expect, inject, test } from 'vitest'
import { createDatabase } from '../support/database.ts'
import { isInDocs, readText, readYaml } from '../support/deployment-files.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { alarmRules } from '../support/prometheus.ts'
import { startInstance } from '../support/server-instance.ts'
import { callHttp, type Json, testDatabase } from '../support/service.ts'

const rules = alarmRules
const dashboard: Json = JSON.parse(readText('deploy/grafana/gatehouse.json'))
const asked: { what: string; expr: string }[] = [
  ...rules.map(({ alert, expr }) => ({ what: alert, expr })),
  ...dashboard.panels.flatMap(({ title, targets = [] }: Json) => targets.map(({ expr }: Json) => ({ what: title, expr }))),
]

/** The labels of each metric, by the name of its samples. `instance`, `job` and `up` are added by Prometheus. */
const served = new Map<string, Set<string>>([['up', new Set()]])
let text = ''

beforeAll(async () => {
  const database = await createDatabase(testDatabase(), inject('templates'))
  onFileEnd(() => database.drop())
  const { url } = await startInstance({ DATABASE_URL: database.url }, onFileEnd)
  text = (await callHttp(`${url}/metrics`, 'GET')).body as string
  for (const [, name = '', kind] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
    const names = kind === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => name + end) : [name]
    for (const sample of names) served.set(sample, new Set(sample.endsWith('_bucket') ? ['le'] : []))
  }
  for (const [, name = '', labels = ''] of text.matchAll(/^(\w+)\{(.*)\} \S+$/gm))
    for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) served.get(name)?.add(label)
})

/** The metrics that a PromQL expression uses, and the labels that it selects or groups by. */
function namesIn(expr: string): { metrics: string[]; labels: string[] } {
  const bare = expr.replace(/"[^"]*"/g, '""')
  const metrics = [...bare.matchAll(/\bup\b|\b(?:gatehouse|process|nodejs)_\w+/g)].map(([name]) => name)
  const chosen = [...bare.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*""/g)].map(([, label]) => label!)
  const grouped = [...bare.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list]) => list!.split(',').map((label) => label.trim()))
  return { metrics, labels: [...chosen, ...grouped] }
}

/** A counter's labels are in /metrics only once something was counted, so they are read from docs/reference/metrics-and-logs.md. */
const documented = new Map(
  [...readText('docs/reference/metrics-and-logs.md').matchAll(/`(gatehouse_\w+)\{([\w,]+)\}`/g)].map(([, name, labels]) => [
    name,
    labels!.split(','),
  ]),
)

test.each(asked)('$what uses only metrics and labels that exist', ({ expr }) => {
  const { metrics, labels } = namesIn(expr)
  expect(metrics.length).toBeGreaterThan(0)
  expect(metrics.filter((name) => !served.has(name))).toEqual([])
  const known = metrics.flatMap((name) => [...(served.get(name) ?? []), ...(documented.get(name.replace(/_bucket$/, '')) ?? [])])
  expect(labels.filter((label) => !['instance', 'job', ...known].includes(label))).toEqual([])
})

test('the dashboard shows every metric of our own', () => {
  const shown = new Set(asked.flatMap(({ expr }) => namesIn(expr).metrics).map((name) => name.replace(/_bucket$/, '')))
  const own = [...served.keys()].filter((name) => name.startsWith('gatehouse_') && !/_(sum|count)$/.test(name))
  expect(own.map((name) => name.replace(/_bucket$/, '')).filter((name) => !shown.has(name))).toEqual([])
})

test('a metric that alone raises an alarm is in /metrics from the start, so that Prometheus sees the increase', () => {
  const alone = rules.flatMap(({ expr }) => [...expr.matchAll(/increase\((\w+)(?:\{([^}]*)\})?\[1[dh]\]\)\) > 0/g)])
  expect(alone.map(([, name]) => name)).toContain('gatehouse_refreshes_total')
  for (const [, name, labels = ''] of alone) expect(text).toMatch(new RegExp(`^${name}.*${labels}.* 0$`, 'm'))
  const cleaned = [...text.matchAll(/^gatehouse_cleanup_last_success_timestamp_seconds\{rule="\w+"\} (\d+)$/gm)]
  expect(cleaned.map(([, at]) => Number(at)).filter((at) => at > 1_700_000_000).length).toBeGreaterThan(20)
})

describe('alarms', () => {
  const names = rules.map(({ alert }) => alert).toSorted()

  test('each alarm is seen firing in test/faults/alarms.test.ts', () => {
    const cases = ['faults/alarms.test.ts', 'support/alarm-faults.ts'].flatMap((path) => [
      ...readText(`test/${path}`).matchAll(/alarms: \[([^\]]*)\]/g),
    ])
    const seen = cases.flatMap(([, list]) => [...list!.matchAll(/'(Gatehouse\w+)'/g)].map(([, name]) => name))
    expect(seen.toSorted()).toEqual(names)
  })

  test('each alarm has tests in which it fires and tests in which it does not', () => {
    const { tests } = readYaml('deploy/prometheus/gatehouse.rules.test.yaml')
    const looks: Json[] = tests.flatMap(({ promql_expr_test }: Json) => promql_expr_test)
    const firing = looks.flatMap(({ exp_samples = [] }) => exp_samples.map(({ labels }: Json) => /"(\w+)"/.exec(labels)?.[1]))
    expect([...new Set(firing)].toSorted()).toEqual(names)
    for (const { name, promql_expr_test } of tests)
      expect(
        promql_expr_test.some(({ exp_samples }: Json) => exp_samples === undefined),
        name,
      ).toBe(true)
  })

  test.each(rules)('$alert has a summary, a severity and a link to its runbook', ({ annotations, labels }) => {
    expect(annotations.summary).toMatch(/\S{3}/)
    expect(['page', 'ticket']).toContain(labels.severity)
    expect(isInDocs(annotations.runbook), annotations.runbook).toBe(true)
  })

  test('each alarm is in the table for the person on call, with its urgency', () => {
    const rows = readText('docs/runbooks/at-three-in-the-morning.md').matchAll(
      /^\| `(Gatehouse\w+)` \| (\w+) \| \S.* \| \S.* \|$/gm,
    )
    const listed = [...rows].map(([, alert, severity]) => `${alert} ${severity}`)
    expect(listed.toSorted()).toEqual(rules.map(({ alert, labels }) => `${alert} ${labels.severity}`).toSorted())
  })
})
