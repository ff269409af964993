// Writes packages/sdk/src/admin/api-types.ts, the types of the HTTP API as docs/reference/openapi.json describes it. Git ignores that file.
// `run.mjs` runs this script before any task if the document or package.json has changed; `generate.ts` and `check.ts` run it too.
import { createHash } from 'node:crypto'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import type { OpenAPI3 } from 'openapi-typescript'

const root = new URL('../', import.meta.url)
const document = readFileSync(new URL('docs/reference/openapi.json', root), 'utf8')
const target = new URL('packages/sdk/src/admin/api-types.ts', root)

// The root's package.json pins the version of the generator. `run.mjs` computes this digest as well.
const digest = createHash('sha256')
  .update(document)
  .update(readFileSync(new URL('package.json', root)))
  .digest('hex')
const header = `// Generated from docs/reference/openapi.json (${digest}). Do not edit.\n`
// Not rewritten if nothing changed: a newer file would cause everything to be built again.
if (!read(target)?.startsWith(header)) {
  const { default: openapiTypes, astToString } = await import('openapi-typescript')
  const types = astToString(await openapiTypes(JSON.parse(document) as OpenAPI3))
  // A process that is killed here leaves no half-written file under the final name, which would count as done.
  const unfinished = new URL(`${target.href}.${process.pid}.tmp`)
  writeFileSync(unfinished, `${header}\n${types}`)
  renameSync(unfinished, target)
}

function read(file: URL): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
