import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { duplicateName, parseJson } from './json.ts'

test.each([
  '{"a":12345678901234567890}',
  '{"a":[1.0,1e3,1E+3,-0,0.10,1e999,{"b":0.1000000000000000055511151231257827}],"c":"1.0"}',
  '{"__proto__":{"a":1.0},"constructor":2.50}',
])('the digits of %s are kept, beside numbers for the program', (text) => {
  const { value, verbatim } = parseJson(text)
  expect(JSON.stringify(verbatim)).toBe(text)
  expect(value).toEqual(JSON.parse(text))
})

test('a text whose numbers JavaScript keeps is parsed into one value', () => {
  const { value, verbatim } = parseJson('{"a":[1,2.5,{"b":-3}]}')
  expect(value).toBe(verbatim)
})

describe('a name that stands twice', () => {
  test.each([
    ['{"a":1,"a":1}', 'a'],
    ['{"a":1,"b":{"c":1,"d":[{"e":1,"f":2,"e":1}]}}', 'e'],
    ['{"a":1,"\\u0061" : 2}', 'a'],
    ['{"__proto__":1,"__proto__":2}', '__proto__'],
    ['{"a":{"x":1},"a":{"x":1}}', 'a'],
    ['{"":1,"":2}', ''],
  ])('of %s is %j', (text, name) => {
    expect(duplicateName(text, JSON.parse(text))).toBe(name)
  })

  test.each(['{"a":{"a":{"a":["a","a:","\\":",":"]}}}', '{"a" \n:"b\\\\","c":"\\\\\\":"}', '{}', '["a","a"]'])(
    'is none in %s',
    (text) => {
      expect(duplicateName(text, JSON.parse(text))).toBeUndefined()
    },
  )

  test('is none in whatever JSON.stringify writes', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value, null, 1)
        expect(duplicateName(text, JSON.parse(text))).toBeUndefined()
        expect(JSON.stringify(parseJson(text).value)).toBe(JSON.stringify(value))
      }),
    )
  })
})
