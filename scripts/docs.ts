// `npm run docs` builds the pages of docs/ into a site (site/) and serves it on this machine. With --build it only builds it, which
// fails for a link to no page. --port chooses the port.
import { spawnSync } from 'node:child_process'
import { createReadStream, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { dirname, extname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const site = join(dirname(dirname(fileURLToPath(import.meta.url))), 'site')
const dist = join(site, 'dist')
const { values } = parseArgs({ options: { build: { type: 'boolean' }, port: { type: 'string', default: '4173' } } })

const shell = process.platform === 'win32'
run('pnpm', ['install', '--frozen-lockfile', '--reporter=append-only', '--loglevel=warn'])
run(join(site, 'node_modules/.bin/vitepress'), ['build'])
if (!values.build) serve(Number(values.port))

function run(program: string, words: string[]): void {
  // Results alone go to stdout.
  const { status } = spawnSync(program, words, { cwd: site, stdio: ['ignore', 2, 2], shell })
  if (status !== 0) process.exit(status ?? 1)
}

function serve(port: number): void {
  const types: Record<string, string> = {
    '.css': 'text/css',
    '.html': 'text/html; charset=utf-8',
    '.js': 'text/javascript',
    '.json': 'application/json',
    '.md': 'text/plain; charset=utf-8',
    '.png': 'image/png',
    '.svg': 'image/svg+xml',
    '.txt': 'text/plain; charset=utf-8',
  }
  const server = createServer((request, response) => {
    const found = fileOf(request.url ?? '/')
    const file = found ?? join(dist, '404.html')
    response.writeHead(found ? 200 : 404, { 'content-type': types[extname(file)] ?? 'application/octet-stream' })
    createReadStream(file).pipe(response)
  })
  // Another site may be served already, so that its port is taken.
  server.once('error', () => server.listen(0, '127.0.0.1'))
  server.on('listening', () => {
    const address = server.address()
    if (address && typeof address === 'object') console.log(`http://localhost:${address.port}/`)
  })
  server.listen(port, '127.0.0.1')
}

/** The file of the site at this path of a URL. No file has a name that a URL would have to escape. */
function fileOf(url: string): string | undefined {
  const path = normalize(join(dist, url.split(/[?#]/)[0]!))
  const files = [path, `${path}.html`, join(path, 'index.html')]
  return files.find((file) => file.startsWith(dist) && statSync(file, { throwIfNoEntry: false })?.isFile())
}
