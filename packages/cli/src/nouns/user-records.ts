import type { components } from '@gatehouse/sdk/admin'
import { type Api, bodyOf, type Pages, pages } from '../api/api-client.ts'
import { Failure } from '../command-line/exit-codes.ts'
import type { Column } from '../output/cells.ts'
import { findUserId } from './user-ref.ts'

export type UserDetail = components['schemas']['UserDetail']
export type Session = components['schemas']['Session']
export type Identity = components['schemas']['Identity']
export type Passkey = components['schemas']['Passkey']
export type TrustedBrowser = components['schemas']['TrustedBrowser']

/** The named user, with everything that an admin sees. */
export async function getUserDetail(api: Api, typed: string): Promise<UserDetail> {
  const path = { userId: await findUserId(api, typed) }
  return bodyOf(api.GET('/api/v1/admin/users/{userId}', { params: { path } }))
}

export function sessionsOf(api: Api, userId: string, limit?: number): Pages<Session> {
  const params = (query: { limit: number; cursor?: string }) => ({ params: { path: { userId }, query } })
  return pages((page) => bodyOf(api.GET('/api/v1/admin/users/{userId}/sessions', params(page))), limit)
}

export function identitiesOf(api: Api, userId: string, limit?: number): Pages<Identity> {
  const params = (query: { limit: number; cursor?: string }) => ({ params: { path: { userId }, query } })
  return pages((page) => bodyOf(api.GET('/api/v1/admin/users/{userId}/identities', params(page))), limit)
}

export function passkeysOf(api: Api, userId: string, limit?: number): Pages<Passkey> {
  const params = (query: { limit: number; cursor?: string }) => ({ params: { path: { userId }, query } })
  return pages((page) => bodyOf(api.GET('/api/v1/admin/users/{userId}/passkeys', params(page))), limit)
}

export function trustedBrowsersOf(api: Api, userId: string, limit?: number): Pages<TrustedBrowser> {
  const params = (query: { limit: number; cursor?: string }) => ({ params: { path: { userId }, query } })
  return pages((page) => bodyOf(api.GET('/api/v1/admin/users/{userId}/trusted-browsers', params(page))), limit)
}

export const sessionColumns: Column<Session>[] = [
  ['app', ({ app, kind }) => app?.code ?? (kind === 'browser' ? '(sign-in page)' : null)],
  ['method', ({ auth_method }) => auth_method],
  'ip',
  'created_at',
  'last_used_at',
  'user_agent',
  'id',
]

/** Whether the service answered that the thing to remove does not exist. */
export function isAbsent(thrown: unknown): boolean {
  return thrown instanceof Failure && thrown.code === 'not_found'
}
