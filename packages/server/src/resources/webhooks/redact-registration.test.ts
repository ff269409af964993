import { expect, test } from 'vitest'
import { parseJson } from '../../lib/json.ts'
import { redactRegistration } from './redact-registration.ts'

const redact = (json: string) => JSON.stringify(redactRegistration(parseJson(json).verbatim() as Record<string, unknown>))

test.each([
  ['{"password":"pass word 1"}', '{"password":"[REDACTED]"}'],
  ['{"Password":"a","PASSWORD":1,"password":null}', '{"Password":"[REDACTED]","PASSWORD":"[REDACTED]","password":"[REDACTED]"}'],
  [
    '{"two_factor_code":"123456","a":[{"Two_Factor_Code":{"b":1}}]}',
    '{"two_factor_code":"[REDACTED]","a":[{"Two_Factor_Code":"[REDACTED]"}]}',
  ],
  [
    '{"password":"pass word 1","again":"pass word 1","deep":[[{"x":"pass word 1"}]]}',
    '{"password":"[REDACTED]","again":"[REDACTED]","deep":[[{"x":"[REDACTED]"}]]}',
  ],
  [
    '{"device_token":"gdt_a.b.c","deep":[{"Device_Token":"gdt_a.b.c","x":"gdt_a.b.c"}]}',
    '{"device_token":"[REDACTED]","deep":[{"Device_Token":"[REDACTED]","x":"[REDACTED]"}]}',
  ],
  ['{"device_token":"","a":"","device_tokens":"kept"}', '{"device_token":"[REDACTED]","a":"","device_tokens":"kept"}'],
  ['{"password":"pass word 1","pass word 1":true}', '{"password":"[REDACTED]","[REDACTED]":true}'],
  ['{"password":"pass word 1","hint":"not pass word 1 itself"}', '{"password":"[REDACTED]","hint":"not pass word 1 itself"}'],
  [
    '{"a":[1,2.5,-0.1,true,null,"",{}],"passwords":"kept","b":{"c":[]}}',
    '{"a":[1,2.5,-0.1,true,null,"",{}],"passwords":"kept","b":{"c":[]}}',
  ],
  [
    '{"a":12345678901234567890,"b":[1.0,{"c":-0}],"password":1e2}',
    '{"a":12345678901234567890,"b":[1.0,{"c":-0}],"password":"[REDACTED]"}',
  ],
  [
    '{"__proto__":{"x":1},"constructor":2,"prototype":{"__proto__":null}}',
    '{"__proto__":{"x":1},"constructor":2,"prototype":{"__proto__":null}}',
  ],
])('%s is sent as %s', (received, sent) => {
  expect(redact(received)).toBe(sent)
})
