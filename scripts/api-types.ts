// Writes packages/sdk/src/admin/api-types.ts, the types of the HTTP API as docs/openapi.json describes it. Git ignores that file.
// `run.mjs` runs this script before any task if the document has changed; `generate.ts` and `check.ts` run it too.
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import type { OpenAPI3 } from 'openapi-typescript'

const document = readFileSync(new URL('../docs/openapi.json', import.meta.url), 'utf8')
const target = new URL('../packages/sdk/src/admin/api-types.ts', import.meta.url)

// `run.mjs` looks for this digest.
const digest = createHash('sha256').update(document).digest('hex')
const header = `// Generated from docs/openapi.json (${digest}). Do not edit.\n`
// Not rewritten if nothing changed: a newer file would cause everything to be built again.
if (!read(target)?.startsWith(header)) {
  const { default: openapiTypes, astToString } = await import('openapi-typescript')
  const types = astToString(await openapiTypes(JSON.parse(document) as OpenAPI3))
  writeFileSync(target, `${header}\n${types}`)
}

function read(file: URL): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
