import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { createRequire } from 'node:module'
import { Readable } from 'node:stream'
import type { Middleware } from 'koa'
import { z } from 'zod'
import { ApiError } from '../errors.ts'
import { html, type PageView } from '../lib/html.ts'
import type { PageTexts } from '../pages/texts/page-texts.ts'
import { textsFor } from '../pages/texts/texts-for.ts'
import { prefersHtml } from './read-request.ts'
import { ok, route, section } from './route.ts'
import { showPage } from './speak/page.ts'
import { say } from './speak/reply.ts'

const require = createRequire(import.meta.url)

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Gatehouse API</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
<script src="/docs/swagger-ui-bundle.js" defer></script>
<script src="/docs/init.js" defer></script>
</head>
<body>
<main id="reference"><noscript>This page needs JavaScript. The document that it shows: <a href="/api/v1/openapi.json">openapi.json</a></noscript></main>
</body>
</html>
`

// `showExtensions` shows whose token a route takes. Schemas come before examples, because Swagger UI makes the examples up. The
// validator is off: it would send the address of the document to another host.
const init = `if (matchMedia('(prefers-color-scheme: dark)').matches) document.documentElement.classList.add('dark-mode')
SwaggerUIBundle({
  url: '/api/v1/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  filter: true,
  showExtensions: true,
  showCommonExtensions: true,
  defaultModelRendering: 'model',
  defaultModelExpandDepth: 8,
  validatorUrl: null,
})
`
const initTag = createHash('sha256').update(init).digest('base64url')

const cached = { 'Cache-Control': 'public, max-age=300' }

/** The page may load scripts and styles only from this server, and call only it. Its images are data URLs in the style sheet. */
const pageHeaders = {
  ...cached,
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'",
  'Referrer-Policy': 'no-referrer',
  'X-Frame-Options': 'DENY',
}

interface Asset {
  type: string
  /** Changes with its content. */
  tag(): string
  open(): string | Readable
}

const assets: Record<string, Asset> = {
  'init.js': { type: 'text/javascript', tag: () => initTag, open: () => init },
  'swagger-ui-bundle.js': packaged('swagger-ui-bundle.js', 'text/javascript'),
  'swagger-ui.css': packaged('swagger-ui.css', 'text/css'),
}

/** Streams a file of swagger-ui-dist. Files are up to 1.7 MB, and a slow client must not keep that much in memory. */
function packaged(file: string, type: string): Asset {
  return {
    type,
    tag: () => require('swagger-ui-dist/package.json').version,
    open: () => createReadStream(require.resolve(`swagger-ui-dist/${file}`)),
  }
}

function welcomeView({ language, welcome }: PageTexts): PageView {
  const reference = html`<a href="docs">${welcome.reference}</a>`
  return {
    status: 200,
    language,
    title: welcome.title,
    body: html`<p>${welcome.what}</p>
<p>${welcome.how}</p>
<p class="hint">${welcome.developers(reference)}</p>`,
  }
}

/** Tells people who open `/` what this is. Other clients find nothing there. */
export const showWelcome: Middleware = async (ctx, next) => {
  if (ctx.path !== '/' || (ctx.method !== 'GET' && ctx.method !== 'HEAD')) return next()
  ctx.vary('Accept')
  if (!prefersHtml(ctx)) return next()
  say(ctx, showPage(welcomeView(textsFor({ accepts: ctx.state.origin.languages }))))
}

/** `/docs`: the OpenAPI document as a web page. Swagger UI is served from here too. */
export const apiReferenceRoutes = section('System', [
  route({
    method: 'GET',
    path: '/docs',
    summary: 'The API reference as a web page',
    auth: 'public',
    offline: true,
    responses: { 200: z.string() },
    handle: async () => ({ ...ok(page), headers: pageHeaders }),
  }),
  route({
    method: 'GET',
    path: '/docs/{file}',
    summary: 'Assets of the API reference page',
    auth: 'public',
    offline: true,
    params: z.object({ file: z.enum(Object.keys(assets)) }),
    headers: z.object({ 'if-none-match': z.string().optional() }),
    responses: { 200: z.union([z.string(), z.instanceof(Readable)]), 304: null },
    async handle(_, { params, headers }) {
      const asset = assets[params.file]
      if (!asset) throw new ApiError('not_found')
      const { type, tag, open } = asset
      const etag = `"${tag()}"`
      const common = { ...cached, ETag: etag }
      if (headers['if-none-match']?.includes(etag)) return { status: 304, headers: common }
      return { ...ok(open()), headers: { ...common, 'Content-Type': `${type}; charset=utf-8` } }
    },
  }),
])
