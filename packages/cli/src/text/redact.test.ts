import { expect, test } from 'vitest'
import { redact, redactUrl } from './redact.ts'

test('secrets are replaced at any depth, and the values beside them stay', () => {
  const body = {
    email: 'a@example.com',
    password: 'p',
    two_factor_code: '123456',
    tokens: { access_token: 'a', refresh_token: 'r', token_type: 'Bearer' },
    webhooks: [{ name: 'crm', secret: 's', has_secret: true }],
    code: 'shop',
    recovery_codes: ['x'],
  }
  expect(redact(JSON.stringify(body))).toEqual({
    email: 'a@example.com',
    password: '[redacted]',
    two_factor_code: '[redacted]',
    tokens: '[redacted]',
    webhooks: [{ name: 'crm', secret: '[redacted]', has_secret: true }],
    code: 'shop',
    recovery_codes: '[redacted]',
  })
})

test('the URL of a webhook is cut to its origin wherever it appears', () => {
  const urls = [
    'https://hooks.slack.com/services/T0/B0/x',
    'https://me:pw@crm.example.com',
    'https://chat.example.com/?key=k',
    'x',
  ]
  const body = {
    webhooks: urls.map((url) => ({ name: 'n', url })),
    details: { before: { webhooks: [{ url: 'https://a.example' }] } },
  }
  expect(redact(JSON.stringify(body))).toEqual({
    webhooks: [
      { name: 'n', url: 'https://hooks.slack.com/[redacted]' },
      { name: 'n', url: 'https://crm.example.com/[redacted]' },
      { name: 'n', url: 'https://chat.example.com/[redacted]' },
      { name: 'n', url: '[redacted]' },
    ],
    details: { before: { webhooks: [{ url: 'https://a.example' }] } },
  })
})

test('a secret that another member repeats is replaced there too', () => {
  expect(redact(JSON.stringify({ token: 'invitation-token', code: 'invitation-token', app: { code: 'shop' } }))).toEqual({
    token: '[redacted]',
    code: '[redacted]',
    app: { code: 'shop' },
  })
})

test('a text that is not JSON is replaced by its size', () => {
  expect(redact('{"password": "p"}\n{"password": "q"}')).toBe('[35 bytes]')
})

test('secrets in a query are replaced', () => {
  expect(redactUrl('http://x/verify?token=abc&email=a')).toBe('http://x/verify?token=%5Bredacted%5D&email=a')
})
