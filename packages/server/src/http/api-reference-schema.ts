import { type Html, html } from '../lib/html.ts'

/** Of JSON Schema, as the OpenAPI document uses it, what the reference shows. */
export interface Schema {
  $ref?: string
  type?: string | string[]
  description?: string
  format?: string
  pattern?: string
  const?: unknown
  default?: unknown
  enum?: unknown[]
  anyOf?: Schema[]
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
  items?: Schema
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  minItems?: number
  maxItems?: number
}
export type Schemas = Record<string, Schema>

export interface Field {
  /** With the members above it: `webhooks[].url`. */
  name: string
  isRequired: boolean
  schema: Schema
}

export function recordName({ $ref }: Schema): string | undefined {
  return $ref?.split('/').at(-1)
}

/** The members of an object, and below each those of the objects that it holds. Records of their own are named, not told again. */
export function listFields(schema: Schema, prefix = ''): Field[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, member]) => {
    const field = { name: prefix + name, isRequired: schema.required?.includes(name) ?? false, schema: member }
    return [field, ...membersBelow(member, field.name)]
  })
}

function membersBelow(schema: Schema, name: string): Field[] {
  if (schema.anyOf) return schema.anyOf.flatMap((choice) => membersBelow(choice, name))
  if (schema.items) return membersBelow(schema.items, `${name}[]`)
  return listFields(schema, `${name}.`)
}

/** A text of the document; what stands between back quotes is code. */
export function prose(text: string): Html {
  return html`${text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part))}`
}

/** What a value may be, in words. */
export function describeType(schema: Schema): Html {
  const name = recordName(schema)
  if (name !== undefined) return html`<a href="#record-${name}">${name}</a>`
  if (schema.const !== undefined) return literal(schema.const)
  if (schema.enum) return join(schema.enum.map(literal))
  if (schema.anyOf) return join(schema.anyOf.map(describeType))
  if (Array.isArray(schema.type)) return join(schema.type.map((type) => describeType({ ...schema, type })))
  if (schema.items) return html`list of ${describeType(schema.items)}`
  if (schema.type === 'object' && typeof schema.additionalProperties === 'object' && !schema.properties) {
    return html`object of ${describeType(schema.additionalProperties)}`
  }
  return html`${schema.type === 'string' && schema.format ? schema.format : (schema.type ?? 'any value')}`
}

function literal(value: unknown): Html {
  return html`<code>${JSON.stringify(value)}</code>`
}

function join(parts: readonly Html[]): Html {
  return html`${parts.map((part, index) => html`${index === 0 ? '' : ' or '}${part}`)}`
}

/** The bounds of a value beyond its type. */
export function describeRules(schema: Schema): Html[] {
  const { items, anyOf } = schema
  const rules: (string | undefined)[] = [
    range(schema.minLength, schema.maxLength, 'characters'),
    range(plain(schema.minimum), plain(schema.maximum), ''),
    range(schema.minItems, schema.maxItems, 'entries'),
  ]
  const told = rules.filter((rule) => rule !== undefined).map((rule) => html`${rule}`)
  if (schema.pattern && !schema.format) told.push(html`as <code>${schema.pattern}</code>`)
  if (schema.default !== undefined) told.push(html`default ${literal(schema.default)}`)
  const inside = items && !items.properties ? describeRules(items).map((rule) => html`each ${rule}`) : []
  return [...told, ...inside, ...(anyOf ?? []).flatMap(describeRules)]
}

/** Every integer of JavaScript has these bounds. */
function plain(bound: number | undefined): number | undefined {
  return bound === undefined || Math.abs(bound) === Number.MAX_SAFE_INTEGER ? undefined : bound
}

function range(least: number | undefined, most: number | undefined, unit: string): string | undefined {
  if (least === undefined && most === undefined) return undefined
  if (least === 1 && most === undefined && unit !== '') return 'not empty'
  const bounds = least === undefined ? `at most ${most}` : most === undefined ? `at least ${least}` : `${least} to ${most}`
  return `${bounds} ${unit}`.trim()
}
