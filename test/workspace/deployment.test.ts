// The files in deploy/ and .github/ refer only to things that exist in the repository.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { settings } from '../../packages/server/src/config.ts'
import type { Json } from '../support/client.ts'
import { unpackFromDebian } from '../support/debian-packages.ts'
import { parseYaml, readText, readYaml, root } from '../support/deployment-files.ts'

const scripts: Record<string, string> = JSON.parse(readText('package.json')).scripts
const settingNames = new Set(
  Object.entries(settings.shape).flatMap(([name, schema]) => (schema.meta()?.secret ? [name, `${name}_FILE`] : [name])),
)
const unknownSettings = (names: readonly string[]) => names.filter((name) => !settingNames.has(name))

test.each(globSync('{.github,deploy}/**/*.{yml,yaml}', { cwd: root }))('%s is YAML', (path) => {
  expect(parseYaml(readText(path)).length).toBeGreaterThan(0)
})

test.each(globSync(['{.github,deploy}/**/*.json', '.devcontainer/*.json'], { cwd: root }))('%s is JSON', (path) => {
  expect(JSON.parse(readText(path))).toBeTypeOf('object')
})

describe('the workflows', () => {
  const workflows = globSync('.github/workflows/*.yml', { cwd: root }).map((path) => ({ path, workflow: readYaml(path) }))
  const steps = workflows.flatMap(({ path, workflow }) =>
    Object.entries<Json>(workflow.jobs).flatMap(([job, { steps }]) =>
      steps.map((step: Json) => ({ where: `${path} ${job}`, step })),
    ),
  )

  test.each(steps.filter(({ step }) => step.uses))('$where takes $step.uses by its commit', ({ step }) => {
    expect(step.uses).toMatch(/^[\w-]+\/[\w/-]+@[0-9a-f]{40}$/)
  })

  test('call scripts that there are', () => {
    const commands = steps.flatMap(({ step }) => [step.run, step.with?.script]).filter(Boolean)
    const called = commands.flatMap((command: string) => [...command.matchAll(/npm run (\S+)/g)].map(([, name]) => name!))
    expect(called).toContain('release:publish')
    expect(called.filter((name) => !(name in scripts))).toEqual([])
    const files = commands.flatMap((command: string) =>
      [...command.matchAll(/(?:^|\s)((?:\.ci|scripts)\/\S+)/g)].map(([, f]) => f!),
    )
    expect(files).toContain('.ci/run')
    expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([])
  })

  test.each(workflows)('$path gives each job only what it needs', ({ workflow }) => {
    const jobs = Object.values<Json>(workflow.jobs)
    expect(Object.values(workflow.permissions).filter((right) => right !== 'read')).toEqual([])
    for (const job of jobs) expect(job['timeout-minutes']).toBeLessThanOrEqual(90)
    const writing = jobs.filter((job) => Object.values(job.permissions ?? {}).includes('write'))
    // A job with write permission must not run tests, because their tools come from many third parties.
    for (const job of writing) expect(JSON.stringify(job.steps)).not.toMatch(/\.ci\/run|npm test/)
  })
})

describe('the image', () => {
  const lines = readText('deploy/Dockerfile').replaceAll('\\\n', '').split('\n')

  test('is made of files that there are, which the build is given', () => {
    const sources = lines.filter((line) => /^COPY (?!--from)/.test(line)).flatMap((line) => line.split(' ').slice(1, -1))
    expect(sources.length).toBeGreaterThan(5)
    expect(sources.filter((source) => !existsSync(join(root, source)))).toEqual([])
    const given = readText('.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => line.slice(1))
    expect(given.filter((path) => !existsSync(join(root, path)))).toEqual([])
    for (const source of sources.filter((path) => path !== '.'))
      expect(
        given.some((path) => source === path || source.startsWith(`${path}/`)),
        source,
      ).toBe(true)
  })

  test('has the package manager and the Node of the workspace', () => {
    const { packageManager } = JSON.parse(readText('package.json'))
    expect(lines.join('\n')).toContain(`npm install --global ${packageManager}`)
    expect(readText('scripts/run.mjs')).toContain(`NODE_VERSION = '${readText('.nvmrc').trim()}.`)
    expect(lines.join('\n')).toContain(`FROM node:${readText('.nvmrc').trim()}-`)
  })

  test('sets settings that there are, and runs as nobody of rank', () => {
    const last = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM ')))
    const names = last
      .filter((line) => line.startsWith('ENV '))
      .flatMap((line) => [...line.matchAll(/(\w+)=/g)].map(([, n]) => n!))
    expect(unknownSettings(names)).toEqual(['MALLOC_ARENA_MAX'])
    expect(last.find((line) => line.startsWith('USER '))).toMatch(/^USER [1-9]\d*:[1-9]\d*$/)
    expect(last.some((line) => line.startsWith('HEALTHCHECK '))).toBe(true)
    expect(last.some((line) => /\b(npm|pnpm|apt-get)\b/.test(line) && !line.startsWith('#'))).toBe(false)
  })
})

describe('the compose files', () => {
  const compose = readYaml('deploy/compose.yaml')
  const development = readYaml('deploy/compose.development.yaml')

  test.each([
    ['compose.yaml', compose],
    ['compose.development.yaml', development],
  ])('%s sets settings that there are', (_name, file) => {
    expect(unknownSettings(Object.keys(file.services.gatehouse.environment))).toEqual([])
  })

  test('hand the service each secret that it reads, and deploy/make-secrets.sh makes each', () => {
    const made = [...readText('deploy/make-secrets.sh').matchAll(/\| keep (\S+)/g)].map(([, name]) => name!).sort()
    for (const service of Object.values<Json>(compose.services)) {
      const read = Object.values<string>(service.environment).flatMap((value) => /^\/run\/secrets\/(.*)$/.exec(value)?.[1] ?? [])
      expect(read.sort()).toEqual(service.secrets.toSorted())
    }
    expect(Object.keys(compose.secrets).sort()).toEqual(made)
    for (const [name, { file }] of Object.entries<Json>(compose.secrets)) expect(file).toBe(`secrets/${name}`)
    expect(readText('.gitignore').split('\n')).toContain('deploy/secrets/')
  })

  test('catch mails in development alone', () => {
    expect(Object.keys(compose.services)).toEqual(['gatehouse', 'postgres'])
    expect(Object.keys(development.services)).toEqual(['gatehouse', 'mail'])
    expect(development.services.gatehouse.environment).toMatchObject({ SMTP_URL: 'smtp://mail:1025', SMTP_URL_FILE: '' })
  })
})

describe('the manifests for Kubernetes', () => {
  const overlays = ['postgres', 'sqlite-single']
  const rendered = new Map<string, Json[]>()
  const kubectl = spawnSync('kubectl', ['kustomize', '--help']).status === 0
  const base = readYaml('deploy/kubernetes/base/deployment.yaml')

  test('set settings that there are, from keys of the secret that there are', () => {
    const patch = readYaml('deploy/kubernetes/overlays/sqlite-single/deployment.yaml')
    const literals: string[] = readYaml('deploy/kubernetes/base/kustomization.yaml').configMapGenerator[0].literals
    const variables = [base, patch].flatMap(
      ({ spec }) => spec.template.spec.containers[0].env as { name: string; value: string }[],
    )
    const names = [...literals.map((literal) => literal.split('=')[0]!), ...variables.map(({ name }) => name)]
    expect(names.length).toBeGreaterThan(9)
    expect(unknownSettings(names)).toEqual([])

    const keys = Object.keys(readYaml('deploy/kubernetes/secret.example.yaml').stringData)
    const read = variables.flatMap(({ value }) => /^\/run\/secrets\/gatehouse\/(.*)$/.exec(value)?.[1] ?? [])
    expect(read.sort()).toEqual(keys.toSorted())
    const made = readText('deploy/make-secrets.sh')
    for (const key of keys) expect(made).toContain(`| keep ${key}`)
  })

  test('give a server as long to end as it may take', () => {
    const { literals } = readYaml('deploy/kubernetes/base/kustomization.yaml').configMapGenerator[0]
    const delay = Number(literals.find((line: string) => line.startsWith('AUTH_SHUTDOWN_DELAY_SECONDS=')).split('=')[1])
    expect(base.spec.template.spec.terminationGracePeriodSeconds).toBe(delay + 40)
    const { periodSeconds, failureThreshold } = base.spec.template.spec.containers[0].readinessProbe
    expect(delay).toBeGreaterThanOrEqual(periodSeconds * (failureThreshold + 1))
  })

  test.runIf(kubectl).each(overlays)('%s can be rendered, and nothing in it runs with rights that it does not need', (name) => {
    const text = execFileSync('kubectl', ['kustomize', join(root, 'deploy/kubernetes/overlays', name)], { encoding: 'utf8' })
    rendered.set(name, parseYaml(text))
    const one = (kind: string): Json => rendered.get(name)?.find((document) => document.kind === kind) ?? {}
    const { spec } = one('Deployment').spec.template
    const [container] = spec.containers
    expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } })
    expect(spec.automountServiceAccountToken).toBe(false)
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    expect(readText('deploy/Dockerfile')).toContain(`USER ${spec.securityContext.runAsUser}:${spec.securityContext.runAsGroup}`)
    expect(container.livenessProbe.httpGet.path).toBe('/api/v1/health')
    expect(container.readinessProbe.httpGet.path).toBe('/api/v1/ready')
    expect(one('Service').spec.selector).toEqual(one('Deployment').spec.selector.matchLabels)
    expect(one('ConfigMap').metadata.name).toBe(container.envFrom[0].configMapRef.name)
    const mounted = container.volumeMounts.map((mount: Json) => mount.name).sort()
    expect(spec.volumes.map((volume: Json) => volume.name).sort()).toEqual(mounted)
  })

  test.runIf(kubectl)('keep servers of Postgres up while nodes are emptied, and never run two on one SQLite file', () => {
    const find = (name: string, kind: string): Json | undefined => rendered.get(name)?.find((document) => document.kind === kind)
    const many = find('postgres', 'Deployment')!
    expect(find('postgres', 'PodDisruptionBudget')?.spec.selector).toEqual(many.spec.selector)
    expect(many.spec).toMatchObject({ replicas: 2, strategy: { rollingUpdate: { maxUnavailable: 0 } } })
    const single = find('sqlite-single', 'Deployment')!
    expect(single.spec).toMatchObject({ replicas: 1, strategy: { type: 'Recreate' } })
    expect(find('sqlite-single', 'PersistentVolumeClaim')?.spec.accessModes).toEqual(['ReadWriteOncePod'])
    expect(find('sqlite-single', 'PodDisruptionBudget')).toBeUndefined()
  })
})

test('Prometheus accepts the alarms', async ({ skip }) => {
  const installed = spawnSync('promtool', ['--version']).status === 0
  const promtool = installed
    ? 'promtool'
    : await unpackFromDebian('prometheus', ['prometheus'], '40 MB').then(
        (folder) => join(folder, 'usr/bin/promtool'),
        (error: Error) => skip(error.message),
      )
  const said = spawnSync(promtool, ['check', 'rules', join(root, 'deploy/prometheus/gatehouse.rules.yaml')], { encoding: 'utf8' })
  expect(said.stdout).toMatch(/SUCCESS: \d+ rules found/)
})

test('each file that the page on deploying names is there, and each of deploy/ is named', () => {
  const page = readFileSync(join(root, 'docs/deploying.md'), 'utf8')
  const named = new Set([...page.matchAll(/\bdeploy\/[\w./-]*\w/g)].map(([path]) => path))
  const missing = [...named].filter((path) => !path.startsWith('deploy/secrets') && !existsSync(join(root, path)))
  expect(missing).toEqual([])
  const top = globSync('deploy/*', { cwd: root, exclude: ['deploy/secrets'] })
  expect(top.filter((path) => ![...named].some((name) => name.startsWith(path)))).toEqual([])
})
