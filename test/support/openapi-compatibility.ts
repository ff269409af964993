// Finds what clients of an API lose between two OpenAPI documents. It understands the part of JSON Schema that our generator
// writes. A change of any other keyword is reported as a loss, so that no change goes unnoticed.
import type { Json } from './service.ts'

/** The direction of the data: rules for what a client sends may get looser, rules for what it reads may get stricter. */
type Way = 'sent' | 'read'

/** Returns a line for each thing that is removed or narrowed, in the order of the older document. */
export function lossesBetween(before: Json, after: Json): string[] {
  const losses = new Set<string>()
  for (const [path, methods] of Object.entries<Json>(before.paths)) {
    for (const [method, operation] of Object.entries<Json>(methods)) {
      const name = `${method.toUpperCase()} ${path}`
      const next = after.paths[path]?.[method]
      if (next) compareOperations(name, operation, next)
      else losses.add(`${name}: removed`)
    }
  }
  return [...losses]

  function compareOperations(name: string, one: Json, other: Json): void {
    if (one.security?.length === 0 && other.security?.length > 0) losses.add(`${name}: needs a bearer`)
    compareParameters(name, one.parameters ?? [], other.parameters ?? [])
    if (!one.requestBody?.required && other.requestBody?.required) losses.add(`${name}: needs a body`)
    compareContents(`${name} body`, one.requestBody, other.requestBody, 'sent')
    for (const [status, response] of Object.entries<Json>(one.responses)) {
      const next = other.responses[status]
      if (next) compareContents(`${name} ${status}`, resolved(before, response), resolved(after, next), 'read')
      else losses.add(`${name} ${status}: removed`)
    }
  }

  function compareParameters(name: string, ones: Json[], others: Json[]): void {
    const keyOf = (each: Json) => `${each.in} ${each.name}`
    for (const one of ones) {
      const other = others.find((each) => keyOf(each) === keyOf(one))
      if (!other) losses.add(`${name} ${keyOf(one)}: removed`)
      else if (!one.required && other.required) losses.add(`${name} ${keyOf(one)}: required`)
      else compare(`${name} ${keyOf(one)}`, one.schema, other.schema, 'sent')
    }
    for (const other of others) {
      if (other.required && !ones.some((each) => keyOf(each) === keyOf(other))) losses.add(`${name} ${keyOf(other)}: required`)
    }
  }

  function compareContents(name: string, one: Json, other: Json, way: Way): void {
    for (const [type, { schema }] of Object.entries<Json>(one?.content ?? {})) {
      const next = other?.content?.[type]
      if (next) compare(name, schema, next.schema, way)
      else losses.add(`${name}: ${type} removed`)
    }
  }

  function compare(name: string, one: Json, other: Json, way: Way): void {
    for (const loss of lossesOf(name, one, other, way, new Set())) losses.add(loss)
  }

  function lossesOf(name: string, rawOne: Json, rawOther: Json, way: Way, seen: Set<string>): string[] {
    const pair = `${rawOne?.$ref} ${rawOther?.$ref} ${way}`
    if (rawOne?.$ref && seen.has(pair)) return []
    const within = rawOne?.$ref ? new Set([...seen, pair]) : seen
    const [one, other] = [resolved(before, rawOne ?? {}), resolved(after, rawOther ?? {})]
    const [ones, others] = [variantsOf(one), variantsOf(other)]
    if (ones.length === 1 && others.length === 1) return lossesOfVariant(name, ones[0], others[0], way, within)
    // Every variant that could be sent must still be accepted. Every variant that can be read must have been possible before.
    const [kept, among] = way === 'sent' ? [ones, others] : [others, ones]
    const isCovered = (variant: Json) =>
      among.some((each) => {
        const [from, to] = way === 'sent' ? [variant, each] : [each, variant]
        return lossesOf(name, from, to, way, within).length === 0
      })
    if (kept.every(isCovered)) return []
    return [`${name}: ${way === 'sent' ? 'takes less' : 'may be something else'}`]
  }

  function lossesOfVariant(name: string, one: Json, other: Json, way: Way, seen: Set<string>): string[] {
    const found: string[] = []
    const lose = (what: string) => void found.push(`${name}: ${what}`)
    const [narrow, wide] = way === 'sent' ? [one, other] : [other, one]
    if (wide.type !== undefined && !typesOf(narrow).every((type) => typesOf(wide).includes(type)))
      lose(`the type ${typesOf(one).join('|')} became ${typesOf(other).join('|') || 'any'}`)
    for (const value of valuesOf(one) ?? []) {
      const left = valuesOf(other)
      if (left && !left.includes(value)) lose(`no longer ${value}`)
    }
    if (way === 'sent' && !valuesOf(one) && valuesOf(other)) lose('takes some values alone')
    compareLimits(one, other, way, lose)
    if (way === 'sent' && one.additionalProperties !== false && other.additionalProperties === false && one.properties)
      lose('takes no further members')
    for (const [member, schema] of Object.entries<Json>(one.properties ?? {})) {
      const next = other.properties?.[member]
      const isFree = way === 'sent' && other.additionalProperties !== false
      if (next) found.push(...lossesOf(`${name} ${member}`, schema, next, way, seen))
      else if (!isFree || other.type !== one.type) lose(`${member} removed`)
      const [was, is] = [one.required?.includes(member), other.required?.includes(member)]
      if (way === 'read' && was && next && !is) lose(`${member} may be missing`)
    }
    if (way === 'sent') {
      for (const member of other.required ?? []) if (!one.required?.includes(member)) lose(`${member} required`)
    }
    if (one.items && other.items) found.push(...lossesOf(`${name} []`, one.items, other.items, way, seen))
    for (const keyword of new Set([...Object.keys(one), ...Object.keys(other)])) {
      if (!read.has(keyword) && JSON.stringify(one[keyword]) !== JSON.stringify(other[keyword])) lose(`${keyword} changed`)
    }
    return found
  }
}

/** Compares limits, which may only become wider for what a client sends. */
function compareLimits(one: Json, other: Json, way: Way, lose: (what: string) => void): void {
  if (way === 'read') return
  for (const least of ['minLength', 'minItems', 'minimum', 'exclusiveMinimum', 'minProperties'])
    if ((other[least] ?? -Infinity) > (one[least] ?? -Infinity)) lose(`${least} ${one[least] ?? 'none'} became ${other[least]}`)
  for (const most of ['maxLength', 'maxItems', 'maximum', 'exclusiveMaximum', 'maxProperties'])
    if ((other[most] ?? Infinity) < (one[most] ?? Infinity)) lose(`${most} ${one[most] ?? 'none'} became ${other[most]}`)
  for (const rule of ['pattern', 'format', 'uniqueItems'])
    if (other[rule] !== undefined && other[rule] !== one[rule]) lose(`${rule} ${one[rule] ?? 'none'} became ${other[rule]}`)
}

/** Keywords that are compared above, and keywords that do not affect what is valid. */
const read = new Set([
  ...['type', 'enum', 'const', 'properties', 'required', 'items', 'additionalProperties', 'anyOf', 'oneOf', '$ref', 'pattern'],
  ...['minLength', 'minItems', 'minimum', 'exclusiveMinimum', 'minProperties', 'maxLength', 'maxItems', 'maximum'],
  ...['exclusiveMaximum', 'maxProperties', 'format', 'uniqueItems', 'propertyNames'],
  ...['description', 'title', 'default', 'example', 'examples', 'id', 'writeOnly', 'readOnly', 'deprecated'],
])

function resolved(document: Json, value: Json): Json {
  const path = value?.$ref?.slice(2).split('/')
  return path
    ? resolved(
        document,
        path.reduce((at: Json, key: string) => at[key], document),
      )
    : value
}

function variantsOf(schema: Json): Json[] {
  return schema.anyOf ?? schema.oneOf ?? [schema]
}

function typesOf({ type, const: only }: Json): string[] {
  if (type === undefined) return only === undefined ? [] : [typeof only]
  const types = [type].flat()
  return types.includes('number') ? [...types, 'integer'] : types
}

function valuesOf(schema: Json): unknown[] | undefined {
  return schema.enum ?? (schema.const === undefined ? undefined : [schema.const])
}
