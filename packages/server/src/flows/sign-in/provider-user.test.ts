import { expect, test } from 'vitest'
import { isTrustedAddress } from './provider-user.ts'

type Provider = Parameters<typeof isTrustedAddress>[0]

const issuer = 'https://accounts.google.com'
const google: Provider = { code: 'google', issuer, trusted_email_domains: [] }
const acme: Provider = {
  code: 'acme',
  issuer: 'https://id.example.com',
  trusted_email_domains: ['corp.com', 'xn--bcher-kva.example'],
}

function isTrusted(provider: Provider, email: string | null, hostedDomain: string | null = null, emailVerified = true): boolean {
  return isTrustedAddress(provider, { email, emailVerified, hostedDomain })
}

test('only the listed domains are trusted, without their subdomains or domains that end alike', () => {
  expect(isTrusted(acme, 'ada@corp.com')).toBe(true)
  expect(isTrusted(acme, 'ada@xn--bcher-kva.example')).toBe(true)
  for (const domain of ['eng.corp.com', 'evil-corp.com', 'corp.com.evil.example', 'com']) {
    expect(isTrusted(acme, `ada@${domain}`), domain).toBe(false)
  }
})

test('an empty list trusts no domain, and `*` trusts every domain', () => {
  expect(isTrusted({ ...acme, trusted_email_domains: [] }, 'ada@corp.com')).toBe(false)
  expect(isTrusted({ ...acme, trusted_email_domains: ['*'] }, 'ada@elsewhere.example')).toBe(true)
})

test('an address that the provider does not call verified is never trusted', () => {
  expect(isTrusted({ ...acme, trusted_email_domains: ['*'] }, 'ada@corp.com', null, false)).toBe(false)
  expect(isTrusted(google, 'ada@gmail.com', null, false)).toBe(false)
  expect(isTrusted(google, 'ada@corp.com', 'corp.com', false)).toBe(false)
  expect(isTrusted({ ...acme, trusted_email_domains: ['*'] }, null)).toBe(false)
})

test('Google is trusted for gmail.com, for the domain in hd, and for the domains of its list', () => {
  expect(isTrusted(google, 'ada@gmail.com')).toBe(true)
  expect(isTrusted(google, 'ada@corp.com', 'corp.com')).toBe(true)
  expect(isTrusted({ ...google, trusted_email_domains: ['corp.com'] }, 'ada@corp.com')).toBe(true)
  expect(isTrusted(google, 'ada@corp.com')).toBe(false)
  expect(isTrusted(google, 'ada@corp.com', 'other.com')).toBe(false)
  expect(isTrusted(google, 'ada@eng.corp.com', 'corp.com')).toBe(false)
})

test('gmail.com and hd do not count for another issuer or another provider', () => {
  for (const provider of [{ ...google, issuer: 'https://accounts.google.com.evil.example' }, { ...google, code: 'acme' }, acme]) {
    expect(isTrusted(provider, 'ada@gmail.com')).toBe(false)
    expect(isTrusted(provider, 'ada@other.com', 'other.com')).toBe(false)
  }
})
