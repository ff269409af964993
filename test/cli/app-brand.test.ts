import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { buildPng } from '../support/images.ts'
import { errorOf, gatehouseFixture, parsed } from './sandbox.ts'

const { signedInOnce: signedIn } = gatehouseFixture()

const brand = {
  accent_color: '#2f6fde',
  support_email: 'help@shop.example.com',
  support_url: 'https://shop.example.com/help',
  terms_url: 'https://shop.example.com/terms',
  privacy_url: 'https://shop.example.com/privacy',
  from_name: 'The Shop',
  default_language: 'de',
}
const flags =
  '--accent #2f6fde --support-email help@shop.example.com --support-url https://shop.example.com/help --terms-url https://shop.example.com/terms --privacy-url https://shop.example.com/privacy --language de'

test('the brand of an app is set when the app is created and later, alone or with other settings', async () => {
  const { authctl, folder } = await signedIn()
  writeFileSync(join(folder, 'logo.png'), buildPng(40, 20))
  writeFileSync(join(folder, 'other.png'), buildPng(20, 20))
  const create = [
    'app',
    'create',
    'branded',
    '--name',
    'Branded',
    ...flags.split(' '),
    '--from-name',
    'The Shop',
    '--logo',
    'logo.png',
  ]
  const app = parsed(await authctl([...create, '--json']))
  expect(app).toMatchObject({ brand, logo_path: expect.stringMatching(/^\/logos\//) })
  const other = parsed(await authctl('app update branded --logo other.png --accent #c2410c --json'))
  expect(other.brand).toEqual({ ...brand, accent_color: '#c2410c' })
  expect(other.logo_path).not.toBe(app.logo_path)
  expect(parsed(await authctl('app update branded --logo other.png --json'))).toMatchObject({ outcome: 'unchanged' })
  const bare = parsed(await authctl(['app', 'update', 'branded', '--logo', '', '--language', '', '--json']))
  expect(bare).toMatchObject({ brand: { ...brand, accent_color: '#c2410c', default_language: null }, logo_path: null })
})

test('a fault in the brand names the flag, and neither the settings nor the logo are written', async () => {
  const { authctl, folder } = await signedIn()
  writeFileSync(join(folder, 'logo.png'), buildPng(40, 20))
  writeFileSync(join(folder, 'large.png'), buildPng(1_025, 2))
  await authctl('app create faulty --name Faulty')
  const before = parsed(await authctl('app show faulty --json'))
  for (const [command, message] of [
    ['app update faulty --logo logo.png --accent #000080', '--accent: must contrast'],
    ['app update faulty --logo large.png --accent #2f6fde', '--logo: must have at most 1,024 pixels'],
    ['app update faulty --logo missing.png', 'cannot read the logo'],
    ['app update faulty --terms-url http://shop.example.com', '--terms-url: must be an https URL'],
  ] as const) {
    const run = await authctl(`${command} --json`)
    expect(errorOf(run).message).toContain(message)
    expect(run.exit).toBe(6)
  }
  expect(parsed(await authctl('app show faulty --json'))).toEqual(before)
})

test('a declaration takes a logo from a file beside it, and an export contains it', async () => {
  const { authctl, folder } = await signedIn()
  writeFileSync(join(folder, 'mark.png'), buildPng(16, 16))
  const write = (logo: string) =>
    writeFileSync(
      join(folder, 'declared.yaml'),
      JSON.stringify({ apps: [{ code: 'declared', name: 'Declared', brand: { accent_color: '#2F6FDE' }, logo }] }),
    )
  write('mark.png')
  const { differences } = parsed(await authctl('diff -f declared.yaml --json'))
  expect(differences[0].fields).toContainEqual({
    field: 'logo',
    before: null,
    after: expect.stringMatching(/^image\/png, \d+ bytes$/),
  })
  expect(parsed(await authctl('apply -f declared.yaml --json'))).toMatchObject({ changed: 1 })
  expect(parsed(await authctl('apply -f declared.yaml --json'))).toMatchObject({ changed: 0 })
  const app = parsed(await authctl('app show declared --json'))
  expect(app).toMatchObject({ brand: { accent_color: '#2f6fde' }, logo_path: expect.any(String) })

  await authctl('export -f exported.yaml')
  await authctl(['app', 'update', 'declared', '--logo', '', '--accent', ''])
  expect(parsed(await authctl('apply -f exported.yaml --json'))).toMatchObject({ changed: 1, failed: 0 })
  expect(parsed(await authctl('app show declared --json'))).toMatchObject({ brand: app.brand, logo_path: app.logo_path })

  write('gone.png')
  const faulty = await authctl('apply -f declared.yaml --json')
  expect(errorOf(faulty)).toMatchObject({
    code: 'invalid_declaration',
    hint: expect.stringContaining('apps[0].logo cannot read'),
  })
})
