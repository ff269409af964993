// An npm registry on this machine, to test npx with a package without the public registry.
import { execFileSync } from 'node:child_process'
import { cpSync, createReadStream, existsSync, mkdirSync, readFileSync, realpathSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { unpack } from './npm-pack.ts'

interface Manifest {
  name: string
  version: string
  dependencies?: Record<string, string>
}

/** The versions of a package, and the folder where each is unpacked. */
type Versions = Map<string, { manifest: Manifest; folder: string }>

/**
 * Serves a packed package, and its dependencies as they are installed below `installed`. Other packages are not found.
 * `workplace` is an empty folder for the files of the registry.
 */
export async function startNpmRegistry(tarball: string, installed: string, workplace: string) {
  const unpacked = join(workplace, 'unpacked')
  unpack(tarball, unpacked)
  const packages = new Map<string, Versions>()
  const root = addPackage(packages, unpacked)
  addDependencies(packages, root, realpathSync(installed))

  let url = ''
  const server = createServer((request, response) => {
    const [, name = '', version] = /^\/([^?]+?)(?:\/-\/(.+)\.tgz)?(?:\?.*)?$/.exec(decodeURIComponent(request.url ?? '')) ?? []
    const versions = packages.get(name)
    const wanted = version === undefined ? undefined : versions?.get(version)
    if (wanted) createReadStream(pack(wanted.folder, join(workplace, `${name.replace('/', '-')}-${version}`))).pipe(response)
    else if (versions && version === undefined)
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(packument(url, name, versions)))
    else response.writeHead(404, { 'content-type': 'application/json' }).end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, close: () => server.close() }
}

function addPackage(packages: Map<string, Versions>, folder: string): Manifest {
  const manifest: Manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const versions: Versions = packages.get(manifest.name) ?? new Map()
  packages.set(manifest.name, versions.set(manifest.version, { manifest, folder }))
  return manifest
}

function addDependencies(packages: Map<string, Versions>, { dependencies = {} }: Manifest, from: string): void {
  for (const name of Object.keys(dependencies)) {
    const folder = findInstalled(name, from)
    const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    if (packages.get(name)?.has(version)) continue
    addDependencies(packages, addPackage(packages, folder), folder)
  }
}

/** Finds a package as Node does, from a folder upwards. */
function findInstalled(name: string, from: string): string {
  const folder = join(from, 'node_modules', name)
  if (existsSync(folder)) return realpathSync(folder)
  if (dirname(from) === from) throw new Error(`${name} is not installed`)
  return findInstalled(name, dirname(from))
}

function packument(url: string, name: string, versions: Versions) {
  const all = [...versions].map(([version, { manifest }]) => {
    return [version, { ...manifest, dist: { tarball: `${url}/${name}/-/${version}.tgz` } }]
  })
  return { name, 'dist-tags': { latest: [...versions.keys()].at(-1) }, versions: Object.fromEntries(all) }
}

/** Packs a folder into a tarball, with every file below `package/`. */
function pack(folder: string, workplace: string): string {
  const tarball = `${workplace}.tgz`
  if (existsSync(tarball)) return tarball
  mkdirSync(workplace)
  // The installed files are links into pnpm's store. An installation elsewhere that links them too changes their times, and tar
  // fails if it reads them at that moment.
  cpSync(folder, join(workplace, 'package'), { recursive: true, dereference: true })
  execFileSync('tar', ['-czf', tarball, '-C', workplace, 'package'])
  return tarball
}
