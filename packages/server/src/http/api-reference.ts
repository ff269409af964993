import { z } from 'zod'
import { type ApiDocument, referenceHeaders, renderApiReference } from './api-reference-page.ts'
import { ok, type Route, route } from './route.ts'

/** `/docs`: the OpenAPI document as a page to read; rendered when first asked for, and kept. */
export function apiReferenceRoute(build: () => unknown): Route {
  let page: string | undefined
  return route({
    method: 'GET',
    path: '/docs',
    tag: 'System',
    summary: 'The API as a page to read',
    auth: 'public',
    offline: true,
    responses: { 200: z.string() },
    errors: [],
    async handle(deps) {
      page ??= renderApiReference(build() as ApiDocument, deps.config.publicUrl)
      return { ...ok(page), headers: referenceHeaders }
    },
  })
}
