import { expect, test } from 'vitest'
import { asClaimable, isUnproven, madeBys, verifiedNow } from './account-record.ts'

test('an account is unproven when it was registered by its user or a provider and no address of it was ever verified', () => {
  const unproven = madeBys.filter((made_by) => isUnproven({ made_by, first_verified_at: null }))
  expect(unproven).toEqual(['self', 'provider'])
  for (const made_by of madeBys) expect(isUnproven({ made_by, first_verified_at: 1 })).toBe(false)
})

test('only an unproven account can be claimed', () => {
  const unproven = { made_by: 'self', first_verified_at: null } as const
  expect(asClaimable(unproven)).toBe(unproven)
  expect(asClaimable({ ...unproven, made_by: 'import' })).toBeUndefined()
})

test('the time of the first verification is kept at later ones', () => {
  expect(verifiedNow(5)).toEqual({ email_verified_at: 5, first_verified_at: 5, mailbox_proven_at: 5 })
  expect(verifiedNow(5, { made_by: 'self', first_verified_at: null }).first_verified_at).toBe(5)
  expect(verifiedNow(5, { made_by: 'self', first_verified_at: 3 })).toEqual({
    ...{ email_verified_at: 5, first_verified_at: 3, mailbox_proven_at: 5 },
  })
})
