import { recordName, type Schema, type Schemas } from './api-reference-schema.ts'

const someId = '0198c0de-0000-7000-8000-000000000000'

/** By the name of the member, where its schema says too little. */
const byName: Record<string, unknown> = {
  email: 'ada@example.com',
  password: 'correct horse battery staple',
  current_password: 'correct horse battery staple',
  new_password: 'another horse battery staple',
  first_name: 'Ada',
  last_name: 'Lovelace',
  code: 'notes',
  app_code: 'notes',
  name: 'Notes',
  service: 'notes',
  resource: 'notes',
  action: 'read',
  role_code: 'base_user',
  role_codes: ['org_member'],
  permissions: ['notes:read'],
  namespace: 'default',
  two_factor_code: '123456',
  description: 'Shared notes',
  issuer: 'https://login.example.com',
  redirect_url: 'https://notes.example.com/callback',
}

/** A body that the schema takes: what is required, or else the first member that is not. */
export function sampleBody(schema: Schema, schemas: Schemas): unknown {
  return sample(schema, schemas, '')
}

function sample(schema: Schema, schemas: Schemas, name: string): unknown {
  const record = recordName(schema)
  if (record !== undefined) return sample(schemas[record] ?? {}, schemas, name)
  if (schema.const !== undefined) return schema.const
  if (schema.enum) return schema.enum[0]
  if (schema.properties) return sampleObject(schema, schemas)
  if (schema.anyOf) return sample(schema.anyOf[0]!, schemas, name)
  if (schema.items)
    return Array.isArray(byName[name]) && !schema.items.properties ? byName[name] : [sample(schema.items, schemas, name)]
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type
  if (type === 'boolean') return true
  if (type === 'integer' || type === 'number') return Math.max(1, schema.minimum ?? 1)
  if (type === 'object') return {}
  return sampleText(schema, name)
}

function sampleObject(schema: Schema, schemas: Schemas): Record<string, unknown> {
  const { properties = {}, required = [] } = schema
  const names = required.length > 0 ? required : Object.keys(properties).slice(0, 1)
  const values = names.map((name) => [name, sample(properties[name] ?? {}, schemas, name)])
  const object = Object.fromEntries(values)
  // The code of a permission is made of its other members.
  return 'resource' in object ? { ...object, code: `${object.resource}:${object.action}` } : object
}

function sampleText({ format }: Schema, name: string): string {
  if (format === 'uuid') return someId
  if (format === 'date-time') return '2030-01-01T00:00:00.000Z'
  return String(byName[name] ?? 'text')
}
