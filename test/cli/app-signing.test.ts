import { expect, test } from 'vitest'
import { errorOf, gatehouseFixture, parsed } from './sandbox.ts'

const { signedIn } = gatehouseFixture()

test('app signing leads an app to its own key step by step and names the next step', async () => {
  const { authctl } = await signedIn()
  await authctl('app create shop --name Shop')
  expect(parsed(await authctl('app signing shop --json'))).toMatchObject({ signing: 'shared', state: 'settled' })
  expect(errorOf(await authctl('app signing shop --step switch --yes --json'))).toMatchObject({ exit: 5 })
  const rehearsed = await authctl('app signing shop --step prepare --dry-run --json')
  expect(rehearsed.exit).toBe(0)
  expect(parsed(await authctl('app signing shop --json')).state).toBe('settled')

  const prepared = await authctl('app signing shop --step prepare --json')
  expect(parsed(prepared)).toMatchObject({ signing: 'shared', state: 'prepared', outcome: 'updated' })
  expect(prepared.stderr).toContain('gatehouse app-secret shop')
  const unasked = await authctl('app signing shop --step switch')
  expect([unasked.exit, unasked.stderr]).toEqual([2, expect.stringContaining('--yes')])
  const switched = await authctl('app signing shop --step switch --yes --json')
  expect(parsed(switched)).toMatchObject({ signing: 'own', state: 'switched', old_tokens_until: expect.any(String) })
  expect(switched.stderr).toContain('authctl app signing shop --step finish')
  const early = errorOf(await authctl('app signing shop --step finish --yes --json'))
  expect(early).toMatchObject({ code: 'consumers_behind', exit: 5 })
  expect(parsed(await authctl('app signing shop --step finish --force --yes --json'))).toMatchObject({
    signing: 'own',
    state: 'settled',
    keys: [{ stage: 'current', source: 'own' }],
  })
  expect((await authctl('app signing shop --step abort --shared')).exit).toBe(2)
  expect((await authctl('app signing shop --force')).exit).toBe(2)
  const table = await authctl('app signing shop')
  expect(table.stdout).not.toMatch(/[A-Za-z0-9_-]{43}/)
})

test('doctor counts the apps that share the secret and leaves out those with their own key', async () => {
  const { authctl } = await signedIn()
  const finding = async () =>
    parsed(await authctl('doctor --json')).findings.find(({ check }: { check: string }) => check === 'signing')
  for (const code of ['desk', 'blog']) await authctl(`app create ${code} --name ${code}`)
  expect((await finding()).message).toContain('2 apps share one secret')
  for (const step of ['prepare', 'switch', 'finish --force']) await authctl(`app signing desk --step ${step} --yes`)
  expect((await finding()).message).toBe('no two apps share a secret')
})
