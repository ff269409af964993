import fc from 'fast-check'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { JsonFault, parseJson } from './json.ts'

test.each([
  '{"a":12345678901234567890}',
  '{"a":[1.0,1e3,1E+3,-0,0.10,{"b":0.1000000000000000055511151231257827}],"c":"1.0"}',
  '{"__proto__":{"a":1.0},"constructor":2.50}',
])('verbatim keeps the digits of %s, and value has numbers for the program', (text) => {
  const { value, verbatim } = parseJson(text)
  expect(JSON.stringify(verbatim())).toBe(text)
  expect(value).toEqual(JSON.parse(text))
})

test('verbatim equals the parsed value if JavaScript keeps its numbers', () => {
  const { value, verbatim } = parseJson('{"a":[1,2.5,{"b":-3}]}')
  expect(verbatim()).toEqual(value)
})

test('a text of more than 100,000 values is refused without parsing, even if it is not JSON', () => {
  const parse = vi.spyOn(JSON, 'parse')
  onTestFinished(() => parse.mockRestore())
  for (const text of ['[[],'.repeat(60_000), `{"a":[${'0,'.repeat(100_001)}0]}`, `"\\"",${'{'.repeat(200_000)}`])
    expect(() => parseJson(text)).toThrow(new JsonFault('The body has more than 100000 values'))
  expect(parse).not.toHaveBeenCalled()
  parse.mockRestore()
  for (const text of ['"', '"\\', '{"a', '{"a":"\\"}', `${'0,'.repeat(200)}`]) expect(() => parseJson(text)).toThrow(SyntaxError)
  const most = `{"a":[${'"\\",[{:",'.repeat(99_990)}0]}`
  expect(parseJson(most).value).toEqual(JSON.parse(most))
})

test('a text is parsed once, and a second time only for verbatim', () => {
  const parse = vi.spyOn(JSON, 'parse')
  onTestFinished(() => parse.mockRestore())
  const { verbatim } = parseJson('{"a":[1.0,1e3]}')
  expect(parse).toHaveBeenCalledTimes(1)
  verbatim()
  expect(parse).toHaveBeenCalledTimes(2)
})

describe('a duplicate name in an object', () => {
  test.each([
    ['{"a":1,"a":1}', 'a'],
    ['{"a":1,"b":{"c":1,"d":[{"e":1,"f":2,"e":1}]}}', 'e'],
    ['{"a":1,"\\u0061" : 2}', 'a'],
    ['{"__proto__":1,"__proto__":2}', '__proto__'],
    ['{"a":{"x":1},"a":{"x":1}}', 'a'],
    ['{"":1,"":2}', ''],
    [`{"${'x'.repeat(300)}":1,"${'x'.repeat(300)}":2}`, 'x'.repeat(200)],
  ])('a body with a duplicate name is refused: %s', (text, name) => {
    expect(() => parseJson(text)).toThrow(new JsonFault(`${name}: appears twice in one object`))
  })

  test.each(['{"a":{"a":{"a":["a","a:","\\":",":"]}}}', '{"a" \n:"b\\\\","c":"\\\\\\":"}', '{}', '["a","a"]'])(
    'no duplicate name is found in %s',
    (text) => {
      expect(parseJson(text).value).toEqual(JSON.parse(text))
    },
  )

  test('no duplicate name is found in the output of JSON.stringify', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 20 }), (value) => {
        const text = JSON.stringify(value, null, 1)
        expect(JSON.stringify(parseJson(text).value)).toBe(JSON.stringify(value))
      }),
    )
  })
})

test.each([
  ['{"a":"\\u0000"}', 'A string contains a NUL or half a surrogate pair'],
  ['{"\\ud800":1}', 'A string contains a NUL or half a surrogate pair'],
  ['{"a":["\\udc00\\ud800"]}', 'A string contains a NUL or half a surrogate pair'],
  ['{"a":1e999}', 'A number is out of range'],
  [`{"a":-${'9'.repeat(400)}}`, 'A number is out of range'],
  [`{"a":${'['.repeat(32)}${']'.repeat(32)}}`, 'The body is nested deeper than 32 levels'],
  [`{${Array.from({ length: 100_001 }, (_, index) => `"${index}":0`).join()}}`, 'The body has more than 100000 values'],
  [`{"a":[${'[],'.repeat(50_000)}0]}`, 'The body has more than 100000 values'],
])('the body %.20s is refused: %s', (text, message) => {
  expect(() => parseJson(text)).toThrow(new JsonFault(message))
})

test.each(['{"a":"\\ud83d\\ude00"}', '{"a":"\\\\u0000"}', `{"a":${'['.repeat(31)}${']'.repeat(31)}}`])(
  'the body %s is accepted',
  (text) => {
    const { value, verbatim } = parseJson(text)
    expect([value, verbatim()]).toEqual([JSON.parse(text), JSON.parse(text)])
  },
)
