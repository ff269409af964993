import { Failure, usageFailure } from '../command-line/exit-codes.ts'
import { readSource, sourceName } from '../terminal/read-source.ts'
import type { Tools } from '../tools/create-tools.ts'

/** A permission as a service declares one. */
export interface Declared {
  code: string
  name: string
  resource: string
  action: string
}

export interface PermissionFile {
  service: string | undefined
  permissions: Declared[]
}

const codeForm = /^([a-z0-9_-]+):([a-z0-9_-]+)$/

/** Reads the permission file of a service: what --service says and what the file says must agree. */
export async function readPermissionFile(
  { io }: Pick<Tools, 'io'>,
  { service, file }: { service: string | undefined; file: string },
): Promise<{ service: string; permissions: Declared[] }> {
  const name = sourceName(file)
  const declared = await parsePermissionFile(await readSource(io, file), name)
  const agreed = service ?? declared.service
  if (agreed === undefined) throw usageFailure('--service is required', `${name} names no service`)
  if (declared.service !== undefined && declared.service !== agreed)
    throw invalid(`${name} is of the service ${declared.service}, not of ${agreed}`)
  return { service: agreed, permissions: declared.permissions }
}

/** JSON or YAML: `{service?, permissions: [{code, name}]}`, or the bare list. `source` is named in what is thrown. */
export async function parsePermissionFile(text: string, source: string): Promise<PermissionFile> {
  const content = await parseContent(text, source)
  if (Array.isArray(content)) return { service: undefined, permissions: parseList(content, source) }
  if (!isObject(content)) throw invalid(`${source} is neither a list of permissions nor an object with one`)
  const { service, permissions, ...more } = content
  assertNothingElse(more, source)
  if (service !== undefined && typeof service !== 'string') throw invalid(`${source}: service must be text`)
  if (!Array.isArray(permissions)) throw invalid(`${source}: permissions must be a list`)
  return { service, permissions: parseList(permissions, source) }
}

async function parseContent(text: string, source: string): Promise<unknown> {
  try {
    return JSON.parse(text)
  } catch {
    // YAML then, which takes most of JSON too, but not all of its white space.
  }
  const { parse } = await import('yaml')
  try {
    return parse(text)
  } catch (error) {
    throw invalid(`${source} is neither JSON nor YAML: ${(error as Error).message.split('\n')[0]}`)
  }
}

function parseList(entries: unknown[], source: string): Declared[] {
  const codes = new Set<string>()
  return entries.map((entry, index) => {
    const place = `${source}: permissions[${index}]`
    const declared = parseEntry(entry, place)
    if (codes.has(declared.code)) throw invalid(`${place}: ${declared.code} is in the list already`)
    codes.add(declared.code)
    return declared
  })
}

function parseEntry(entry: unknown, place: string): Declared {
  if (!isObject(entry)) throw invalid(`${place} must be an object with code and name`)
  const { code, name, resource, action, ...more } = entry
  assertNothingElse(more, place)
  const parts = typeof code === 'string' ? codeForm.exec(code) : null
  if (!parts) throw invalid(`${place}: code must be resource:action, each of a-z, 0-9, _ and -`)
  if (typeof name !== 'string' || name.trim() === '') throw invalid(`${place}: name must be text`)
  const whole = { code: parts[0], name, resource: parts[1]!, action: parts[2]! }
  if ((resource ?? whole.resource) !== whole.resource || (action ?? whole.action) !== whole.action)
    throw invalid(`${place}: resource and action must be those of the code; they can be left out`)
  return whole
}

function assertNothingElse(more: object, place: string): void {
  const [unknown] = Object.keys(more)
  if (unknown !== undefined) throw invalid(`${place}: there is no field ${unknown}`)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function invalid(message: string): Failure {
  return new Failure('invalid', message, {
    code: 'invalid_permission_file',
    hint: '{"service": "orders", "permissions": [{"code": "orders:read", "name": "Read orders"}]}, or the list alone; or the same as YAML',
  })
}
