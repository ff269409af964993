import { type Api, bodyOf, pages } from '../../api-client.ts'
import type { components } from '../../api-types.ts'
import { command } from '../../command.ts'
import type { Tools } from '../../factory.ts'
import { count, type Input, text } from '../../options.ts'
import { list, type Result } from '../../output.ts'

type Permission = components['schemas']['Permission']

const options = {
  service: text('SERVICE', 'Only permissions of this service'),
  limit: count('N', 'At most so many; all unless given'),
}

export const listPermissions = command({
  path: 'permission list',
  summary: 'List permissions, newest first',
  examples: ['permission list', 'permission list --service orders', 'permission list --service orders --json'],
  options,
  run: runListPermissions,
})

export async function runListPermissions({ api }: Tools, { service, limit }: Input<typeof options>): Promise<Result> {
  return list(permissionPages(api, service, limit), ['code', 'name', 'service'], 'no permissions')
}

function permissionPages(api: Api, service: string | undefined, limit?: number): AsyncGenerator<Permission[]> {
  const filter = service === undefined ? {} : { service }
  return pages((page) => bodyOf(api.GET('/api/v1/admin/permissions', { params: { query: { ...filter, ...page } } })), limit)
}

/** All that a service has, by code. */
export async function readPermissions(api: Api, service: string): Promise<Permission[]> {
  const all: Permission[] = []
  for await (const page of permissionPages(api, service)) all.push(...page)
  return all.sort((one, other) => (one.code < other.code ? -1 : 1))
}
