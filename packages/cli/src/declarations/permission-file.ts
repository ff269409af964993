import { z } from 'zod'
import { Failure, messageOf, usageFailure } from '../command-line/exit-codes.ts'
import { readSource, sourceName } from '../terminal/read-source.ts'
import type { Tools } from '../tools/create-tools.ts'
import { partsOf } from './parts-of.ts'
import { readYaml } from './read-yaml.ts'

/** A permission as a service declares one. The resource and the action follow from its code unless they are given. */
const permission = z
  .strictObject(
    {
      code: z.string('code must be text'),
      name: z.string('name must be text'),
      resource: z.string('resource must be text').nullish(),
      action: z.string('action must be text').nullish(),
    },
    { error: 'must be an object with code and name' },
  )
  .transform(({ code, name, resource, action }) => {
    const parts = partsOf(code)
    return { code, name, resource: resource ?? parts.resource, action: action ?? parts.action }
  })

const permissions = z.array(permission, 'permissions must be a list')

/** `{service?, permissions: [{code, name}]}`, or the bare list. */
const permissionFile = z.preprocess(
  (content: unknown) => (Array.isArray(content) ? { permissions: content } : content),
  z.strictObject(
    { service: z.string('service must be text').optional(), permissions },
    { error: 'is neither a list of permissions nor an object with one' },
  ),
)

export type PermissionFile = z.output<typeof permissionFile>

/** Reads the permission file of a service. Throws if the file names another service than --service. */
export async function readPermissionFile(
  { io }: Pick<Tools, 'io'>,
  { service, file }: { service: string | undefined; file: string },
): Promise<Required<PermissionFile>> {
  const name = sourceName(file)
  const declared = await parsePermissionFile(await readSource(io, file), name)
  const agreed = service ?? declared.service
  if (agreed === undefined) throw usageFailure('--service is required', `${name} does not name a service`)
  if (declared.service !== undefined && declared.service !== agreed)
    throw invalid(`${name} is for the service ${declared.service}, not for ${agreed}`)
  return { service: agreed, permissions: declared.permissions }
}

/** Parses JSON or YAML. Throws `invalid_permission_file` with the first fault and the name of `source`. */
export async function parsePermissionFile(text: string, source: string): Promise<PermissionFile> {
  const { data, error } = permissionFile.safeParse(await parseContent(text, source))
  if (!error) return data
  const [issue] = error.issues
  throw invalid(issue ? spell(issue, source) : error.message)
}

/** Puts the place before a fault: the file, or an entry of the list. */
function spell(issue: z.core.$ZodIssue, source: string): string {
  const [, index, field] = issue.path
  const place = index === undefined ? source : `${source}: permissions[${String(index)}]`
  if (issue.code === 'unrecognized_keys') return `${place}: unknown field ${issue.keys[0]}`
  const isOfAnotherKind = issue.code === 'invalid_type' && field === undefined && issue.path.length !== 1
  return isOfAnotherKind ? `${place} ${issue.message}` : `${place}: ${issue.message}`
}

async function parseContent(text: string, source: string): Promise<unknown> {
  try {
    return JSON.parse(text)
  } catch {
    // YAML is tried next. It covers most of JSON, but not all of its white space, so JSON comes first.
  }
  const { document, faults } = await readYaml(text)
  const [fault] = faults
  if (fault) throw invalid(`${source} is neither JSON nor YAML: line ${fault.line}: ${fault.message}`)
  try {
    return document.toJS()
  } catch (error) {
    throw invalid(`${source} is neither JSON nor YAML: ${messageOf(error)}`)
  }
}

function invalid(message: string): Failure {
  return new Failure('invalid', message, {
    code: 'invalid_permission_file',
    hint: '{"service": "orders", "permissions": [{"code": "orders:read", "name": "Read orders"}]}, or only the list; or the same as YAML',
  })
}
