import { expect, test } from 'vitest'
import { gatehouseFixture, parsed } from './sandbox.ts'

const { signedIn } = gatehouseFixture()

test('sso-provider create, show, list, update and delete work, and the secret is never shown', async () => {
  const { authctl } = await signedIn()
  const input = 'only the two know it\n'
  const words = 'sso-provider create acme --issuer https://id.example.com --client-id gatehouse'
  const created = await authctl(`${words} --client-secret-stdin --json`, { input })
  expect(parsed(created)).toMatchObject({
    code: 'acme',
    client_id: 'gatehouse',
    enabled: true,
    app_codes: [],
    trusted_email_domains: [],
    callback_url: expect.stringContaining('/auth/sso/acme/callback'),
    outcome: 'created',
  })
  const again = await authctl(`${words} --client-secret-stdin --json`, { input })
  expect({ exit: again.exit, code: JSON.parse(again.stderr).error.code }).toEqual({ exit: 5, code: 'sso_provider_code_taken' })
  const google = await authctl(
    'sso-provider create google --client-id g --app * --no-trust-two-factor --client-secret-stdin --json',
    { input },
  )
  expect(parsed(google)).toMatchObject({ issuer: 'https://accounts.google.com', app_codes: ['*'] })

  const change = 'sso-provider update acme --no-enabled --scope email --trust-two-factor --json'
  expect(parsed(await authctl(change))).toMatchObject({
    enabled: false,
    scopes: ['openid', 'email'],
    trusted_for_two_factor: true,
    outcome: 'updated',
  })
  const trust = 'sso-provider update acme --app shop wiki --trust-domain Corp.com --json'
  expect(parsed(await authctl(trust))).toMatchObject({ app_codes: ['shop', 'wiki'], trusted_email_domains: ['corp.com'] })
  const { outcome: _, ...shown } = parsed(await authctl('sso-provider show acme --json'))
  const lists = { app_codes: ['shop', 'wiki'], trusted_email_domains: ['corp.com'] }
  expect(shown).toMatchObject({ enabled: false, issuer: 'https://id.example.com', ...lists })
  expect(parsed(await authctl('sso-provider list --json')).map((each: { code: string }) => each.code)).toEqual(['google', 'acme'])
  const table = (await authctl('sso-provider list -o table')).stdout
  expect(table).toMatch(/^CODE +ISSUER/)
  for (const words of ['shop', 'corp.com']) expect(table).toContain(words)
  const cleared = parsed(await authctl(['sso-provider', 'update', 'acme', '--trust-domain', '', '--json']))
  expect(cleared).toMatchObject({ app_codes: ['shop', 'wiki'], trusted_email_domains: [] })
  const debugged = await authctl('sso-provider update acme --client-secret-stdin --debug', { input })
  expect(debugged.exit).toBe(0)
  expect(debugged.stdout + debugged.stderr).not.toContain('only the two')

  expect((await authctl('sso-provider delete acme')).exit).toBe(2)
  expect((await authctl('sso-provider delete acme --confirm acme')).exit).toBe(0)
  expect((await authctl('sso-provider show acme')).exit).toBe(3)
})

test('sso-provider exits with 2 for a missing secret, setting or name', async () => {
  const { authctl } = await signedIn()
  const create = 'sso-provider create acme --issuer https://id.example.com --client-id gatehouse'
  for (const words of [create, 'sso-provider update acme', 'sso-provider show']) expect((await authctl(words)).exit).toBe(2)
  expect((await authctl(`${create} --client-secret-stdin`, { input: '\n' })).exit).toBe(2)
  expect((await authctl('sso-provider show ../users')).exit).toBe(6)
})
