import type { components } from '@gatehouse/sdk/admin'
import { toJson } from '../text/escape-controls.ts'

type App = components['schemas']['App']

/** Renders a permission file to begin with, for `permission register`. */
export function renderPermissionFile({ code, name, service_codes }: Pick<App, 'code' | 'name' | 'service_codes'>): string {
  return [
    '# All permissions of the service. Registering this file removes permissions that are not in it.',
    `service: ${toJson(service_codes[0] ?? code)}`,
    'permissions:',
    `  - code: ${toJson(`${code}:read`)}`,
    `    name: ${toJson(`Read in ${name}`.slice(0, 200))}`,
    '',
  ].join('\n')
}

export const frameworks = ['koa', 'express', 'fastify', 'hono'] as const
export type Framework = (typeof frameworks)[number]

const snippets: Record<Framework, readonly string[]> = {
  koa: [
    "import Koa from 'koa'",
    '',
    'const app = new Koa()',
    'app.use(requireAuth(auth))',
    'app.use((ctx) => void (ctx.body = { hello: ctx.state.auth.claims.email }))',
  ],
  express: [
    "import express from 'express'",
    '',
    'const app = express()',
    'app.use(requireAuth(auth))',
    "app.get('/', (request, response) => void response.json({ hello: getAuth(request).claims.email }))",
  ],
  fastify: [
    "import Fastify from 'fastify'",
    '',
    'const app = Fastify()',
    "app.addHook('onRequest', requireAuth(auth))",
    "app.get('/', async (request) => ({ hello: getAuth(request).claims.email }))",
  ],
  hono: [
    "import { Hono } from 'hono'",
    '',
    'const app = new Hono()',
    '  .use(requireAuth(auth))',
    "  .get('/', (c) => c.json({ hello: c.var.auth.claims.email }))",
  ],
}

/** Lines of TypeScript that guard a backend. */
export function snippetFor(framework: Framework): string[] {
  const [frameworkImport = '', ...rest] = snippets[framework]
  const guard = framework === 'koa' || framework === 'hono' ? 'requireAuth' : 'getAuth, requireAuth'
  return [
    "import { createAuth } from '@gatehouse/sdk'",
    `import { ${guard} } from '@gatehouse/sdk/${framework}'`,
    frameworkImport,
    '',
    'const auth = createAuth() // SERVICE_AUTH_URL, SERVICE_APP_CODE, JWT_ACCESS_SECRET',
    ...rest.slice(1),
  ]
}
