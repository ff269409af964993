import { expect, test } from 'vitest'
import { z } from 'zod'
import { ApiError } from '../errors.ts'
import { clearable, name, pageQuery, text } from '../lib/fields.ts'
import { validate } from './validate.ts'

const schema = z.strictObject({
  name,
  text: text.optional(),
  count: z.int().min(1).max(3).optional(),
  flag: z.boolean().optional(),
  kind: z.enum(['a', 'b']).optional(),
  fixed: z.literal('x').optional(),
  either: z.union([z.string(), z.number()]).optional(),
  list: z
    .array(z.strictObject({ url: z.url() }))
    .max(2)
    .optional(),
  blank: clearable(z.boolean()),
  coded: z
    .string()
    .refine((value) => value !== 'password', { error: 'is too common', params: { code: 'too_common' } })
    .optional(),
})

function faultsOf(input: unknown, of: z.ZodType = schema): string[] {
  try {
    validate(of, input)
    return []
  } catch (error) {
    expect(error).toBeInstanceOf(ApiError)
    const { code, status, errors } = error as ApiError
    expect({ code, status }).toEqual({ code: 'validation_failed', status: 400 })
    return errors!.map((each) => `${each.path}: ${each.code}`)
  }
}

test.each<[string, unknown, string[]]>([
  ['a missing field', {}, ['name: required']],
  ['undefined', { name: undefined }, ['name: required']],
  ['null', { name: null }, ['name: invalid_type']],
  ['a number for a string', { name: 5 }, ['name: invalid_type']],
  ['a blank name', { name: '  ' }, ['name: too_short']],
  ['a long name', { name: 'x'.repeat(201) }, ['name: too_long']],
  ['a long text', { name: 'x', text: 'x'.repeat(2_001) }, ['text: too_long']],
  ['a string for a number', { name: 'x', count: '1' }, ['count: invalid_type']],
  ['a fraction', { name: 'x', count: 1.5 }, ['count: invalid_type']],
  ['too small a number', { name: 'x', count: 0 }, ['count: too_short']],
  ['too large a number', { name: 'x', count: 4 }, ['count: too_long']],
  ['"true"', { name: 'x', flag: 'true' }, ['flag: invalid_type']],
  ['1 for true', { name: 'x', flag: 1 }, ['flag: invalid_type']],
  ['an unknown word', { name: 'x', kind: 'c' }, ['kind: invalid_value']],
  ['a number for a word', { name: 'x', kind: 1 }, ['kind: invalid_type']],
  ['null for a word', { name: 'x', kind: null }, ['kind: invalid_type']],
  ['another literal', { name: 'x', fixed: 'y' }, ['fixed: invalid_value']],
  ['no member of a union', { name: 'x', either: true }, ['either: invalid_type']],
  ['too many entries', { name: 'x', list: [{ url: 'http://a' }, { url: 'http://a' }, { url: 'http://a' }] }, ['list: too_long']],
  ['a fault in a list', { name: 'x', list: [{ url: 'http://a' }, { url: 'nothing' }] }, ['list.1.url: invalid_value']],
  ['an unknown field in a list', { name: 'x', list: [{ url: 'http://a', nope: 1 }] }, ['list.0.nope: unknown_field']],
  ['a list for an object', { name: 'x', list: [[]] }, ['list.0: invalid_type']],
  ['unknown fields', { name: 'x', nope: 1, 'a.b': 2 }, ['nope: unknown_field', 'a.b: unknown_field']],
  ['a custom code', { name: 'x', coded: 'password' }, ['coded: too_common']],
  ['a cleared field', { name: 'x', blank: '' }, []],
  [
    'several faults at once',
    { name: 5, count: '1', nope: 1 },
    ['name: invalid_type', 'count: invalid_type', 'nope: unknown_field'],
  ],
])('the faults are right for %s', (_, input, faults) => {
  expect(faultsOf(input)).toEqual(faults)
})

test.each([null, undefined, 5, 'x', [], true])('%j is not accepted as a body', (input) => {
  expect(faultsOf(input)).toHaveLength(1)
})

test('members such as __proto__ are unknown fields, and are never inherited', () => {
  const input = JSON.parse('{"name":"x","__proto__":{"flag":true},"constructor":1,"prototype":2}')
  expect(faultsOf(input)).toEqual(['__proto__: unknown_field', 'constructor: unknown_field', 'prototype: unknown_field'])
  expect(faultsOf(JSON.parse('{"__proto__":{"name":"x"}}'))).toEqual(['name: required', '__proto__: unknown_field'])
  const loose = validate(z.looseObject({ name: z.string().optional() }), JSON.parse('{"__proto__":{"name":"x"}}')) as {
    name?: string
  }
  expect(loose.name).toBeUndefined()
  expect(({} as { flag?: boolean }).flag).toBeUndefined()
})

test('no message repeats the value that was sent', () => {
  const secret = 'a-secret-value'
  const inputs = [
    { name: { secret } },
    { name: 'x', kind: secret },
    { name: 'x', fixed: secret },
    { name: 'x', list: [{ url: secret }] },
    { name: 'x', list: secret },
    { name: secret.repeat(20) },
  ]
  for (const input of inputs) {
    try {
      validate(schema, input)
      expect.unreachable()
    } catch (error) {
      const { detail, errors } = error as ApiError
      expect(JSON.stringify([detail, errors])).not.toContain(secret)
    }
  }
})

test('a limit is a whole number from 1 to 200 in plain digits', () => {
  const query = z.strictObject(pageQuery)
  expect(validate(query, { limit: '1' })).toEqual({ limit: 1 })
  expect(validate(query, { limit: '200' })).toEqual({ limit: 200 })
  for (const limit of ['0', '201', '-1', '1.0', '1e1', '0x1', ' 1', '+1', '', '1,2', '１'])
    expect(faultsOf({ limit }, query), limit).toEqual(['limit: invalid_value'])
  for (const limit of [5, ['1', '2'], null]) expect(faultsOf({ limit }, query)).toEqual(['limit: invalid_type'])
})
