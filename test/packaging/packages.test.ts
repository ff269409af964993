// Checks what the registry would receive and show for each package.
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { npmPack, packageFolder, packages, unpack } from '../support/npm-pack.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (path: string) => readFileSync(path, 'utf8')
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-packages-'))

afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

test('the notes in .changeset name only packages that exist', () => {
  const notes = globSync('.changeset/*.md', { cwd: root })
  const named = notes.flatMap((file) => [...read(join(root, file)).matchAll(/^'@gatehouse\/([^']*)':/gm)].map(([, name]) => name))
  expect(named.filter((name) => !packages.some((known) => known === name))).toEqual([])
})

describe.each(packages)('the packed %s', (name) => {
  const unpacked = join(folder, name)
  let tarball: string
  let manifest: Record<string, unknown>

  beforeAll(() => {
    tarball = npmPack(name, folder)
    unpack(tarball, unpacked)
    manifest = JSON.parse(read(join(unpacked, 'package.json')))
  })

  test('the package holds its build, its licence and its page, and nothing else', () => {
    const files = readdirSync(unpacked, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    const [built, others] = [true, false].map((isBuilt) =>
      files.filter(({ parentPath }) => (parentPath === join(unpacked, 'dist')) === isBuilt).map((entry) => entry.name),
    )
    expect(others!.sort()).toEqual(['LICENSE', 'README.md', 'package.json'])
    for (const file of built!) expect(file).toMatch(/^[\w-]+\.(js|cjs|d\.ts|d\.cts|js\.map)$/)
    expect(read(join(unpacked, 'LICENSE'))).toBe(read(join(root, 'LICENSE')))
  })

  test('the package names plain versions, and nothing that only this repository understands', () => {
    expect(manifest).not.toHaveProperty('private')
    expect(JSON.stringify(manifest)).not.toMatch(/catalog:|workspace:|"source"/)
    const { dependencies = {}, peerDependencies = {}, optionalDependencies = {} } = manifest
    const versions = Object.values({
      ...(dependencies as object),
      ...(peerDependencies as object),
      ...(optionalDependencies as object),
    })
    for (const version of versions) expect(version).toMatch(/^[\^~]?\d+\.\d+\.\d+( \|\| \^\d+\.\d+\.\d+)*$/)
  })

  test('the package names its licence, its purpose and its repository', () => {
    const { license, keywords, repository, homepage, description, publishConfig } = manifest
    expect({ license, publishConfig }).toEqual({ license: 'MIT', publishConfig: { access: 'public' } })
    expect(keywords).toEqual(expect.arrayContaining(['auth', 'gatehouse']))
    expect(repository).toMatchObject({
      type: 'git',
      url: expect.stringMatching(/^git\+https:\/\//),
      directory: `packages/${name}`,
    })
    expect([homepage, description]).toEqual([expect.stringMatching(/^https:/), expect.stringMatching(/\w/)])
  })

  test('the page of the package has only links to files of the repository, which work from any site', () => {
    const { repository } = manifest as { repository: { url: string } }
    const files = `${repository.url.replace(/^git\+|[.]git$/g, '')}/blob/main/`
    const links = [...read(join(unpacked, 'README.md')).matchAll(/\]\(([^)]+)\)/g)].map(([, link]) => link!)
    expect(links.length).toBeGreaterThan(2)
    const dead = links.filter(
      (link) => !link.startsWith(files) || !existsSync(join(root, link.slice(files.length).split('#')[0]!)),
    )
    expect(dead).toEqual([])
  })

  test('the package passes publint', async () => {
    const { messages, pkg } = await publint({ pack: { tarball: readFileSync(tarball) as unknown as ArrayBuffer }, strict: true })
    expect(messages.map((message) => formatMessage(message, pkg, { color: false }))).toEqual([])
  })
})

test('the types of the SDK are found like its code, by exports and as Node 10 resolved imports', () => {
  const attw = join(dirname(createRequire(import.meta.url).resolve('@arethetypeswrong/cli/package.json')), 'dist', 'index.js')
  const tarball = readdirSync(folder).find((file) => file.startsWith('gatehouse-sdk-'))!
  const run = spawnSync(process.execPath, [attw, join(folder, tarball), '--profile', 'strict', '--no-emoji', '--no-color'], {
    encoding: 'utf8',
  })
  expect(run.status, run.stdout + run.stderr).toBe(0)
})

test('each entry point of the SDK is published, and the workspace imports its source', () => {
  const entries = (file: string) => Object.keys(JSON.parse(read(join(packageFolder('sdk'), file))).exports)
  expect(entries('package.json').sort()).toEqual(entries('src/package.json').sort())
})

test('a dependency of several packages of the workspace has one version', () => {
  const manifests = ['package.json', ...globSync('{packages,examples}/*/package.json', { cwd: root }), 'test/package.json']
  const catalog = Object.fromEntries(
    [...read(join(root, 'pnpm-workspace.yaml')).matchAll(/^ {2}'?([@\w./-]+)'?: (\d\S*)$/gm)].map(([, dependency, version]) => [
      dependency!,
      version!,
    ]),
  )
  const versions = new Map<string, Set<string>>()
  for (const file of manifests) {
    const { dependencies = {}, devDependencies = {} } = JSON.parse(read(join(root, file))) as Record<string, object | undefined>
    for (const [dependency, version] of Object.entries({ ...dependencies, ...devDependencies }) as [string, string][]) {
      if (version.startsWith('link:')) continue
      const plain = version === 'catalog:' ? catalog[dependency]! : version
      versions.set(dependency, (versions.get(dependency) ?? new Set()).add(plain))
    }
  }
  expect([...versions].filter(([, each]) => each.size > 1)).toEqual([])
})
