import { newId } from '../../packages/server/src/lib/uuid.ts'
import type { TestService } from './service.ts'

/** An organization, as a row: apps name organizations before every route that makes them exists in a test. */
export async function buildOrganization(service: TestService, slug = 'acme'): Promise<{ id: string; slug: string }> {
  const now = service.deps.clock()
  const organization = { id: newId(now), slug, name: slug }
  await service.deps.db('organizations').insert({ ...organization, created_at: now, updated_at: now })
  return organization
}

export async function buildRole(service: TestService, code: string, scope: 'org' | 'global'): Promise<string> {
  const now = service.deps.clock()
  await service.deps.db('roles').insert({ code, name: code, scope, built_in: 0, created_at: now, updated_at: now })
  return code
}

/** The settings with which production mode starts; bcrypt at the lowest cost that it takes. */
export const productionSettings = {
  NODE_ENV: 'production',
  PUBLIC_URL: 'https://login.example.com',
  SMTP_URL: 'smtp://localhost:2525',
  AUTH_BCRYPT_COST: '10',
}

export const whsec = `whsec_${Buffer.alloc(32, 9).toString('base64')}`
