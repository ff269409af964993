import { createHash } from 'node:crypto'
import { errorCodes } from '../errors.ts'
import { Html, html } from '../lib/html.ts'
import { sampleBody } from './api-reference-sample.ts'
import {
  describeRules,
  describeType,
  type Field,
  listFields,
  prose,
  recordName,
  type Schema,
  type Schemas,
} from './api-reference-schema.ts'
import type { RouteAuth } from './route.ts'

interface Content {
  content?: Record<string, { schema: Schema }>
}
interface Parameter {
  in: string
  name: string
  required?: boolean
  description?: string
  schema: Schema
}
interface Operation {
  operationId: string
  tags: string[]
  summary: string
  description?: string
  security: unknown[]
  'x-caller': RouteAuth
  parameters?: Parameter[]
  requestBody?: Content & { description?: string }
  responses: Record<string, Content & { description: string }>
}

/** Of an OpenAPI document what the reference shows. */
export interface ApiDocument {
  info: { version: string; description: string }
  tags: { name: string }[]
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Schemas }
}

const callers: Record<RouteAuth, string> = {
  public: 'Needs no token',
  user: 'Needs an access token',
  system_admin: 'Needs an access token of a system_admin',
  service: 'Needs the token of a service account, or an access token of a system_admin',
  consumer: 'Needs the assertion of a consumer',
  consumer_or_service_account: 'Needs the assertion of a consumer, or the token of a service account',
}

interface Entry extends Operation {
  method: string
  path: string
}

// Every pair of text and ground is at 4.5:1 or more, in both schemes.
const style = `
:root { color-scheme: light dark; --ground: #ffffff; --side: #f3f4f6; --text: #1b1f24; --quiet: #57606a; --line: #d5d9de;
  --accent: #1a56db; --code: #eef1f4; --get: #0b5d2a; --post: #1a4fc4; --put: #7a4a00; --delete: #b42318; --on-method: #ffffff; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #0f1318; --side: #181d24; --text: #e6e9ee; --quiet: #a9b2bd; --line: #343c46;
    --accent: #8ab4f8; --code: #1f262f; --get: #7ee2a0; --post: #9dc1ff; --put: #f5c26b; --delete: #ffa198; --on-method: #0b1016; }
}
* { box-sizing: border-box; }
html { font: 100%/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; scroll-padding-top: 1rem; }
body { margin: 0; background: var(--ground); color: var(--text); }
a { color: var(--accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
code, pre { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .875em; }
code { overflow-wrap: anywhere; }
nav { padding: 1rem; background: var(--side); }
nav ul { margin: 0; padding: 0; list-style: none; display: flex; flex-wrap: wrap; gap: .25rem 1rem; }
nav ul ul { display: none; }
main { padding: 1rem; max-width: 62rem; min-width: 0; }
h1 { margin: 0 0 .5rem; line-height: 1.2; }
h2 { margin: 3rem 0 0; padding-bottom: .25rem; border-bottom: 2px solid var(--line); }
h3 { margin: 0 0 .25rem; font-size: 1.125rem; }
h3 a { color: inherit; text-decoration: none; }
h3 a:hover { text-decoration: underline; }
h4 { margin: 1rem 0 .25rem; font-size: 1rem; }
p { margin: 0 0 .5rem; }
article { padding: 1.5rem 0; border-bottom: 1px solid var(--line); }
.call { margin: 0 0 .5rem; }
.method { display: inline-block; margin-right: .5rem; padding: .0625rem .5rem; border-radius: .25rem; color: var(--on-method);
  font: 600 .8125rem/1.5 ui-monospace, "DejaVu Sans Mono", monospace; }
.GET { background: var(--get); } .POST { background: var(--post); } .PUT, .PATCH { background: var(--put); }
.DELETE { background: var(--delete); }
.quiet, .optional { color: var(--quiet); }
.wide { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; font-size: .9375rem; }
th, td { padding: .375rem .75rem .375rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
th { color: var(--quiet); font-weight: 600; }
td:first-child { min-width: 7rem; }
pre { margin: 0; padding: .75rem 1rem; overflow-x: auto; border-radius: .375rem; background: var(--code); }
@media (min-width: 60rem) {
  body { display: grid; grid-template-columns: 19rem minmax(0, 1fr); }
  nav { position: sticky; top: 0; height: 100vh; overflow-y: auto; font-size: .875rem; }
  nav ul { display: block; }
  nav > ul > li { margin-top: .75rem; font-weight: 600; }
  nav ul ul { display: block; font-weight: 400; }
  nav a { display: block; padding: .0625rem 0; text-decoration: none; }
  nav a:hover { text-decoration: underline; }
  main { padding: 2rem 3rem; }
  td:first-child code { white-space: nowrap; }
}
`

const styleHash = createHash('sha256').update(style).digest('base64')

/** Nothing but its own style, not even a form. */
export const referenceHeaders = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': `default-src 'none'; style-src 'sha256-${styleHash}'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'`,
  'Cache-Control': 'public, max-age=300',
  'Referrer-Policy': 'no-referrer',
  'X-Frame-Options': 'DENY',
}

/** The document as one page to read, without a script and whole, so that the browser's own search finds everything. */
export function renderApiReference(document: ApiDocument, publicUrl: string): string {
  const entries = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]): Entry => ({ ...operation, method: method.toUpperCase(), path })),
  )
  const groups = document.tags.map(({ name }) => ({ name, entries: entries.filter(({ tags }) => tags.includes(name)) }))
  const { schemas } = document.components
  const { markup } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Gatehouse API ${document.info.version}</title>
<style>${new Html(style)}</style>
</head>
<body>
<nav aria-label="Contents">
<ul>
${groups.map(contents)}<li><a href="#records">Records</a></li>
<li><a href="#errors">Error codes</a></li>
</ul>
</nav>
<main>
<h1>Gatehouse API <span class="quiet">${document.info.version}</span></h1>
<p>${document.info.description}</p>
<p>Bodies are JSON. The same as an OpenAPI document: <a href="/api/v1/openapi.json">openapi.json</a>.</p>
${groups.map(({ name, entries }) => html`<section>\n<h2 id="${anchorOf(name)}">${name}</h2>\n${entries.map((entry) => article(entry, schemas, publicUrl))}</section>\n`)}
<section>
<h2 id="records">Records</h2>
${Object.entries(schemas).map(([name, schema]) => html`<article id="record-${name}">\n<h3>${name}</h3>\n${fieldTable(listFields(schema))}</article>\n`)}</section>
<section>
<h2 id="errors">Error codes</h2>
${errorTable()}</section>
</main>
</body>
</html>
`
  return markup
}

function anchorOf(tag: string): string {
  return tag.toLowerCase().replaceAll(' ', '-')
}

function contents({ name, entries }: { name: string; entries: readonly Entry[] }): Html {
  const items = entries.map(({ operationId, summary }) => html`<li><a href="#${operationId}">${prose(summary)}</a></li>\n`)
  return html`<li><a href="#${anchorOf(name)}">${name}</a>\n<ul>\n${items}</ul></li>\n`
}

function article(entry: Entry, schemas: Schemas, publicUrl: string): Html {
  const { operationId, method, path, summary, description, requestBody } = entry
  const parameters = (entry.parameters ?? []).map(({ name, in: place, required, description, schema }) => ({
    name: place === 'header' ? `${name} (header)` : place === 'path' ? `{${name}}` : `?${name}=`,
    isRequired: required ?? false,
    schema: description === undefined ? schema : { ...schema, description },
  }))
  return html`<article id="${operationId}">
<h3><a href="#${operationId}">${prose(summary)}</a></h3>
<p class="call"><span class="method ${method}">${method}</span><code>${path}</code></p>
${description ? html`<p>${prose(description)}</p>\n` : ''}<p class="quiet">${callers[entry['x-caller']]}</p>
${parameters.length > 0 ? html`<h4>Parameters</h4>\n${fieldTable(parameters)}` : ''}${requestBody ? body(requestBody, schemas) : ''}<h4>Answers</h4>
${answerTable(entry)}<h4>Example</h4>
<pre tabindex="0"><code>${curl(entry, schemas, publicUrl)}</code></pre>
</article>
`
}

function body({ content = {}, description }: Content & { description?: string }, schemas: Schemas): Html {
  const types = Object.keys(content)
  const schema = Object.values(content)[0]?.schema ?? {}
  const name = recordName(schema)
  const record = name === undefined ? schema : (schemas[name] ?? {})
  const isStrict = record.additionalProperties === false
  return html`<h4>Body</h4>
<p class="quiet">${types.map((type, index) => html`${index > 0 ? ' or ' : ''}<code>${type}</code>`)}${description ? html`. ${description}` : ''}${isStrict ? '. No other members' : ''}</p>
${fieldTable(listFields(record))}`
}

function fieldTable(fields: readonly Field[]): Html {
  if (fields.length === 0) return html`<p>No members.</p>\n`
  return html`<div class="wide" tabindex="0"><table>
<thead><tr><th scope="col">Name</th><th scope="col">Type</th><th scope="col">Notes</th></tr></thead>
<tbody>
${fields.map(fieldRow)}</tbody></table></div>
`
}

function fieldRow({ name, isRequired, schema }: Field): Html {
  const notes = [...(schema.description ? [prose(schema.description)] : []), ...describeRules(schema)]
  return html`<tr><td><code>${name}</code>${isRequired ? '' : html` <span class="optional">optional</span>`}</td><td>${describeType(schema)}</td><td>${notes.map((note, index) => html`${index > 0 ? '; ' : ''}${note}`)}</td></tr>\n`
}

function answerTable({ responses }: Entry): Html {
  return html`<div class="wide" tabindex="0"><table>
<thead><tr><th scope="col">Status</th><th scope="col">Answer</th></tr></thead>
<tbody>
${Object.entries(responses).map(([status, answer]) => html`<tr><td>${status}</td><td>${/^`/.test(answer.description) ? errors(answer.description) : success(answer)}</td></tr>\n`)}</tbody></table></div>
`
}

function success({ content }: Content): Html {
  const [type, answer] = Object.entries(content ?? {})[0] ?? []
  if (!answer) return html`no body`
  if (type !== 'application/json') return html`<code>${type}</code>`
  const { schema } = answer
  const members = listFields(schema).map(
    ({ name, schema }, index) => html`${index > 0 ? ', ' : ': '}<code>${name}</code> ${describeType(schema)}`,
  )
  return html`${describeType(schema)}${members}`
}

/** `` `code`, `code` `` as links into the table of codes. */
function errors(description: string): Html {
  const codes = description.match(/\w+/g) ?? []
  return html`${codes.map((code, index) => html`${index > 0 ? ', ' : ''}<a href="#error-${code}"><code>${code}</code></a>`)}`
}

function errorTable(): Html {
  const rows = Object.entries(errorCodes).map(
    ([code, { status, title }]) =>
      html`<tr id="error-${code}"><td><code>${code}</code></td><td>${status}</td><td>${prose(title)}</td></tr>\n`,
  )
  return html`<div class="wide" tabindex="0"><table>
<thead><tr><th scope="col">Code</th><th scope="col">Status</th><th scope="col">Meaning</th></tr></thead>
<tbody>
${rows}</tbody></table></div>
`
}

/** A call as it is typed into a shell; what it lacks is a variable there. */
function curl({ method, path, parameters = [], security, requestBody }: Entry, schemas: Schemas, publicUrl: string): string {
  const required = parameters.filter((parameter) => parameter.in === 'query' && parameter.required)
  const query = required.map(({ name }) => `${name}=$${shellName(name)}`).join('&')
  const address = path.replace(/\{(\w+)\}/g, (_, name: string) => `$${shellName(name)}`) + (query ? `?${query}` : '')
  const [type, content] = Object.entries(requestBody?.content ?? {})[0] ?? []
  const isStream = type === 'application/x-ndjson'
  return [
    `curl ${method === 'GET' ? '' : `-X ${method} `}"${publicUrl}${address}"`,
    ...(security.length > 0 ? ['-H "Authorization: Bearer $TOKEN"'] : []),
    ...(type === undefined ? [] : [`-H 'Content-Type: ${type}'`]),
    ...(content && isStream ? ['--data-binary @users.ndjson'] : []),
    ...(content && !isStream ? [`-d '${JSON.stringify(sampleBody(content.schema, schemas)).replaceAll("'", "'\\''")}'`] : []),
  ].join(' \\\n  ')
}

/** `appId` → `APP_ID`. */
function shellName(name: string): string {
  return name.replace(/[A-Z]/g, '_$&').toUpperCase()
}
