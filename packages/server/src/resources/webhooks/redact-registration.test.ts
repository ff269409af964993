import { expect, test } from 'vitest'
import { redactRegistration } from './redact-registration.ts'

const redact = (json: string) => JSON.stringify(redactRegistration(JSON.parse(json)))

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
    '{"__proto__":{"x":1},"constructor":2,"prototype":{"__proto__":null}}',
    '{"__proto__":{"x":1},"constructor":2,"prototype":{"__proto__":null}}',
  ],
])('%s goes out as %s', (received, sent) => {
  expect(redact(received)).toBe(sent)
})
