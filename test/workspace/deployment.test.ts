// The files in deploy/ and .github/ refer only to things that exist in the repository.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { settings } from '../../packages/server/src/config.ts'
import type { Json } from '../support/client.ts'
import { librariesIn, unpackFromDebian } from '../support/debian-packages.ts'
import { parseYaml, readText, readYaml, root } from '../support/deployment-files.ts'
import { providePrometheus } from '../support/prometheus.ts'

const scripts: Record<string, string> = JSON.parse(readText('package.json')).scripts
const settingNames = new Set(
  Object.entries(settings.shape).flatMap(([name, schema]) => (schema.meta()?.secret ? [name, `${name}_FILE`] : [name])),
)
function someFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-deployment-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
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

  test.each(steps.filter(({ step }) => step.uses))('$where pins $step.uses to a commit', ({ step }) => {
    expect(step.uses).toMatch(/^[\w-]+\/[\w/-]+@[0-9a-f]{40}$/)
  })

  test('the workflows call only scripts that exist', () => {
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

  test.each(workflows)('$path gives each job only the rights that it needs', ({ workflow }) => {
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

  test('the image is made of files that exist and that the build gets', () => {
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

  test('the image has the package manager and the Node of the workspace', () => {
    const { packageManager } = JSON.parse(readText('package.json'))
    expect(lines.join('\n')).toContain(`npm install --global ${packageManager}`)
    expect(readText('scripts/run.mjs')).toContain(`NODE_VERSION = '${readText('.nvmrc').trim()}.`)
    expect(lines.join('\n')).toContain(`FROM node:${readText('.nvmrc').trim()}-`)
  })

  test('the image sets only settings that exist, and does not run as root', () => {
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
  ])('%s sets only settings that exist', (_name, file) => {
    expect(unknownSettings(Object.keys(file.services.gatehouse.environment))).toEqual([])
  })

  test('the compose files give the service each secret that it reads, and deploy/make-secrets.sh makes each', () => {
    const made = [...readText('deploy/make-secrets.sh').matchAll(/\| keep (\S+)/g)].map(([, name]) => name!).sort()
    for (const service of Object.values<Json>(compose.services)) {
      const read = Object.values<string>(service.environment).flatMap((value) => /^\/run\/secrets\/(.*)$/.exec(value)?.[1] ?? [])
      expect(read.sort()).toEqual(service.secrets.toSorted())
    }
    expect(Object.keys(compose.secrets).sort()).toEqual(made)
    for (const [name, { file }] of Object.entries<Json>(compose.secrets)) expect(file).toBe(`secrets/${name}`)
    expect(readText('.gitignore').split('\n')).toContain('deploy/secrets/')
  })

  test('the compose files check the settings of the server before it starts, with the same rights', () => {
    const { check, gatehouse } = compose.services
    expect(check.command).toEqual(['check'])
    expect(gatehouse.depends_on).toEqual({ check: { condition: 'service_completed_successfully' } })
    for (const name of ['build', 'environment', 'secrets', 'read_only', 'cap_drop', 'security_opt'])
      expect(check[name], name).toEqual(gatehouse[name])
    expect(development.services.check.environment).toEqual(development.services.gatehouse.environment)
  })

  test('the compose files catch mails only in development', () => {
    expect(Object.keys(compose.services)).toEqual(['check', 'gatehouse', 'postgres'])
    expect(Object.keys(development.services)).toEqual(['check', 'gatehouse', 'mail'])
    expect(development.services.gatehouse.environment).toMatchObject({ SMTP_URL: 'smtp://mail:1025', SMTP_URL_FILE: '' })
  })
})

describe('the manifests for Kubernetes', () => {
  const overlays = ['postgres', 'sqlite-single']
  const rendered = new Map<string, Json[]>()
  const kubectl = spawnSync('kubectl', ['kustomize', '--help']).status === 0
  const base = readYaml('deploy/kubernetes/base/deployment.yaml')

  test('the manifests set existing settings from existing keys of the secret, and the page on deploying puts them there', () => {
    const literalsOf = (path: string): string[] => readYaml(path).configMapGenerator[0].literals
    const literals = ['base', 'overlays/sqlite-single'].flatMap((name) =>
      literalsOf(`deploy/kubernetes/${name}/kustomization.yaml`),
    )
    const names = literals.map((literal) => literal.split('=')[0]!)
    expect(names.length).toBeGreaterThan(9)
    expect(unknownSettings(names)).toEqual([])

    const keys = Object.keys(readYaml('deploy/kubernetes/secret.example.yaml').stringData).sort()
    const read = literals.flatMap((literal) => /=\/run\/secrets\/gatehouse\/(.*)$/.exec(literal)?.[1] ?? [])
    expect(read.sort()).toEqual(keys)
    const made = readText('deploy/make-secrets.sh')
    for (const key of keys) expect(made).toContain(`| keep ${key}`)
    const put = [...readText('docs/operate/deploying.md').matchAll(/--from-file=(\S+)/g)].map(([, path]) => path!)
    expect(put.sort()).toEqual(keys.map((key) => `deploy/secrets/${key}`))
  })

  test('the manifests check the settings of the server before it starts, with the same rights', () => {
    const { initContainers, containers } = base.spec.template.spec
    expect(initContainers[0].args).toEqual(['check'])
    for (const name of ['image', 'envFrom', 'env', 'securityContext', 'volumeMounts'])
      expect(initContainers[0][name], name).toEqual(containers[0][name])
  })

  test('the manifests give a server enough time to end', () => {
    const { literals } = readYaml('deploy/kubernetes/base/kustomization.yaml').configMapGenerator[0]
    const delay = Number(literals.find((line: string) => line.startsWith('AUTH_SHUTDOWN_DELAY_SECONDS=')).split('=')[1])
    expect(base.spec.template.spec.terminationGracePeriodSeconds).toBe(delay + 40)
    const { periodSeconds, failureThreshold } = base.spec.template.spec.containers[0].readinessProbe
    expect(delay).toBeGreaterThanOrEqual(periodSeconds * (failureThreshold + 1))
  })

  test.runIf(kubectl).each(overlays)('%s can be rendered, and its containers have only the rights that they need', (name) => {
    const text = execFileSync('kubectl', ['kustomize', join(root, 'deploy/kubernetes/overlays', name)], { encoding: 'utf8' })
    rendered.set(name, parseYaml(text))
    const one = (kind: string): Json => rendered.get(name)?.find((document) => document.kind === kind) ?? {}
    const { spec } = one('Deployment').spec.template
    const [container] = spec.containers
    for (const name of ['image', 'envFrom', 'securityContext', 'volumeMounts'])
      expect(spec.initContainers[0][name], name).toEqual(container[name])
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

  test.runIf(kubectl).each(overlays)('%s is reached at the public address, and runs an image of one version', (name) => {
    const one = (kind: string): Json => rendered.get(name)?.find((document) => document.kind === kind) ?? {}
    const { rules, tls } = one('Ingress').spec
    const { host } = new URL(one('ConfigMap').data.PUBLIC_URL)
    expect([rules.map((rule: Json) => rule.host), tls.flatMap(({ hosts }: Json) => hosts)]).toEqual([[host], [host]])
    const { service } = rules[0].http.paths[0].backend
    const { metadata, spec } = one('Service')
    expect([service.name, service.port.name]).toEqual([metadata.name, spec.ports[0].name])
    const { image } = one('Deployment').spec.template.spec.containers[0]
    expect(image).toMatch(/:\d+\.\d+\.\d+$/)
  })

  test.runIf(kubectl)('the manifests let Prometheus scrape each server with the token of the servers', () => {
    // kustomize reads no files outside its folder but those of other kustomizations.
    const folder = mkdtempSync(join(root, 'deploy/kubernetes/overlays/monitored-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const lines = ['resources: [../postgres]', 'components: [../../components/service-monitor]']
    writeFileSync(join(folder, 'kustomization.yaml'), lines.join('\n'))
    const documents = parseYaml(execFileSync('kubectl', ['kustomize', folder], { encoding: 'utf8' }))
    const one = (kind: string): Json => documents.find((document) => document.kind === kind) ?? {}
    const { selector, endpoints } = one('ServiceMonitor').spec
    const { metadata, spec } = one('Service')
    expect(metadata.labels).toMatchObject(selector.matchLabels)
    expect(endpoints[0].port).toBe(spec.ports[0].name)
    const { name, key } = endpoints[0].authorization.credentials
    const { secretName } = one('Deployment').spec.template.spec.volumes[0].secret
    expect([name, one('ConfigMap').data.AUTH_METRICS_TOKEN_FILE]).toEqual([secretName, `/run/secrets/gatehouse/${key}`])
    // The alarms find the servers by the name of their job.
    expect(readText('deploy/prometheus/gatehouse.rules.yaml')).toContain('job=~".*gatehouse.*"')
    expect([one('ServiceMonitor').spec.jobLabel, metadata.labels['app.kubernetes.io/name']]).toEqual([
      'app.kubernetes.io/name',
      'gatehouse',
    ])
  })

  test.runIf(kubectl)(
    'the manifests keep servers of Postgres up while nodes are emptied, and never run two on one SQLite file',
    () => {
      const find = (name: string, kind: string): Json | undefined =>
        rendered.get(name)?.find((document) => document.kind === kind)
      const many = find('postgres', 'Deployment')!
      expect(find('postgres', 'PodDisruptionBudget')?.spec.selector).toEqual(many.spec.selector)
      expect(many.spec).toMatchObject({ replicas: 2, strategy: { rollingUpdate: { maxUnavailable: 0 } } })
      const single = find('sqlite-single', 'Deployment')!
      expect(single.spec).toMatchObject({ replicas: 1, strategy: { type: 'Recreate' } })
      expect(find('sqlite-single', 'PersistentVolumeClaim')?.spec.accessModes).toEqual(['ReadWriteOncePod'])
      expect(find('sqlite-single', 'PodDisruptionBudget')).toBeUndefined()
    },
  )
})

describe('the systemd unit', () => {
  const unit = readText('deploy/gatehouse.service')
  const valuesOf = (name: string) => [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value]) => value!)

  test('the unit checks before each start, never gives up, and gets each secret of Kubernetes as a credential', () => {
    const program = '/usr/bin/node /opt/gatehouse/dist/gatehouse.js'
    expect([valuesOf('ExecStartPre'), valuesOf('ExecStart')]).toEqual([[`${program} check`], [`${program} serve`]])
    expect(unit.slice(0, unit.indexOf('[Service]'))).toContain('\nStartLimitIntervalSec=0\n')
    expect(valuesOf('Restart')).toEqual(['on-failure'])
    const variables = valuesOf('Environment').map((line) => line.split('='))
    expect(unknownSettings(variables.map(([name]) => name!))).toEqual(['MALLOC_ARENA_MAX'])
    const credentials = variables.flatMap(([, value]) => /^%d\/(.*)$/.exec(value!)?.[1] ?? []).sort()
    expect(credentials).toEqual(Object.keys(readYaml('deploy/kubernetes/secret.example.yaml').stringData).sort())
    const loaded = credentials.map((name) => `${name}:/etc/gatehouse/secrets/${name}`)
    expect(valuesOf('LoadCredential').sort()).toEqual(loaded)
  })

  test('systemd accepts the unit', async ({ skip }) => {
    const installed = spawnSync('systemd-analyze', ['--version']).status === 0
    const unpacked = installed
      ? undefined
      : await unpackFromDebian('systemd', ['systemd', 'libsystemd-shared'], '10 MB').catch((error: Error) => skip(error.message))
    const analyze = unpacked === undefined ? 'systemd-analyze' : join(unpacked, 'usr/bin/systemd-analyze')
    const env = { PATH: process.env.PATH, ...(unpacked && { LD_LIBRARY_PATH: librariesIn(unpacked).join(delimiter) }) }
    const folder = someFolder()
    // The program is not installed here, so another takes its place.
    writeFileSync(join(folder, 'gatehouse.service'), unit.replaceAll('/usr/bin/node', '/bin/true'))
    const verify = ['verify', '--man=no', '--recursive-errors=no', join(folder, 'gatehouse.service')]
    const { status, stdout, stderr } = spawnSync(analyze, verify, { encoding: 'utf8', env })
    expect([status, stdout, stderr]).toEqual([0, '', ''])
  })

  test('gatehouse-command.sh has the account, settings and secrets of the unit, and passes on words, streams and exit code', () => {
    const folder = someFolder()
    const added = '[Service]\nLoadCredential=previous:/etc/gatehouse/secrets/previous\nEnvironment=X_FILE=%d/previous\n'
    writeFileSync(join(folder, 'unit'), `${unit}\n# override.conf\n${added}`)
    const stand = (name: string, script: string) => writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
    stand('systemctl', `[ "$*" = 'cat gatehouse.service' ] && cat ${folder}/unit`)
    stand('systemd-run', `printf '%s\\n' "$@"; cat; exit 3`)
    const words = ['create-admin', '--email', 'you@example.com', 'two words']
    const { status, stdout } = spawnSync(join(root, 'deploy/gatehouse-command.sh'), words, {
      encoding: 'utf8',
      env: { PATH: `${folder}${delimiter}${process.env.PATH}` },
      input: 'the password',
    })
    expect(status).toBe(3)
    const lines = stdout.split('\n')
    expect(lines.slice(-words.length - 3)).toEqual([
      '/usr/bin/node',
      '/opt/gatehouse/dist/gatehouse.js',
      ...words,
      'the password',
    ])
    const name = lines.find((line) => line.startsWith('--unit='))!.slice('--unit='.length)
    const properties = lines.flatMap((line) => (line.startsWith('--property=') ? line.slice('--property='.length) : []))
    const shared = /^(DynamicUser|StateDirectory|WorkingDirectory|UMask|Environment|EnvironmentFile|LoadCredential)=/
    const expected = `${unit}${added}`.split('\n').filter((line) => shared.test(line))
    expect(properties).toEqual([
      ...expected.map((line) => line.replace('%d', `/run/credentials/${name}.service`)),
      'User=gatehouse',
    ])
  })
})

test('Prometheus accepts the alarms, and their tests pass', async ({ skip }) => {
  const { promtool } = await providePrometheus().catch((error: Error) => skip(error.message))
  const [, ...commands] = /```sh\n((?:promtool .*\n)+)```/.exec(readText('docs/operate/deploying.md'))!
  const words = commands.flatMap((lines) => lines.trimEnd().split('\n')).map((line) => line.split(' ').slice(1))
  expect(words.map(([verb]) => verb)).toEqual(['check', 'test'])
  for (const command of words) {
    const { status, stdout, stderr } = spawnSync(promtool, command, { cwd: root, encoding: 'utf8' })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toContain('SUCCESS')
  }
})

test('each file that the page on deploying names exists, and the page names each file of deploy/', () => {
  const page = readFileSync(join(root, 'docs/operate/deploying.md'), 'utf8')
  const named = new Set([...page.matchAll(/\bdeploy\/[\w./-]*\w/g)].map(([path]) => path))
  const missing = [...named].filter((path) => !path.startsWith('deploy/secrets') && !existsSync(join(root, path)))
  expect(missing).toEqual([])
  const top = globSync('deploy/*', { cwd: root, exclude: ['deploy/secrets'] })
  expect(top.filter((path) => ![...named].some((name) => name.startsWith(path)))).toEqual([])
})
