import { expect, test } from 'vitest'
import { asClaimable, hasProvenAddress, isUnproven, madeBys, verifiedByLink, verifiedNow } from './account-record.ts'

const never = { email_verified_at: null, first_verified_at: null, link_verified_at: null, mailbox_proven_at: null }
const clicked = { email_verified_at: 1, first_verified_at: 1, link_verified_at: 1, mailbox_proven_at: null }
/** As a version before `link_verified_at` left it: verified, by whatever means. */
const former = { ...clicked, link_verified_at: null }
const proven = { email_verified_at: 1, first_verified_at: 1, link_verified_at: null, mailbox_proven_at: 1 }

test('a self-registered or provider-made account is unproven until more than a link has verified it', () => {
  const unproven = (record: { [column in keyof typeof never]: number | null }) =>
    madeBys.filter((made_by) => isUnproven({ made_by, ...record }))
  expect(unproven(never)).toEqual(['self', 'provider'])
  expect(unproven(clicked)).toEqual(['self', 'provider'])
  expect(unproven(former)).toEqual([])
  expect(unproven(proven)).toEqual([])
  // An admin has changed the address since.
  expect(unproven({ ...proven, email_verified_at: null, mailbox_proven_at: null })).toEqual([])
})

test('only an unproven account can be taken over', () => {
  const unproven = { made_by: 'self', ...clicked } as const
  expect(asClaimable(unproven)).toBe(unproven)
  expect(asClaimable({ ...unproven, made_by: 'import' })).toBeUndefined()
  expect(asClaimable({ ...unproven, ...proven })).toBeUndefined()
})

test('an address is proven if it is verified and the account is not unproven', () => {
  expect(hasProvenAddress({ made_by: 'self', ...clicked })).toBe(false)
  expect(hasProvenAddress({ made_by: 'admin', ...clicked })).toBe(true)
  expect(hasProvenAddress({ made_by: 'admin', ...never })).toBe(false)
  expect(hasProvenAddress({ made_by: 'self', ...proven })).toBe(true)
  expect(hasProvenAddress({ made_by: 'self', ...proven, email_verified_at: null, mailbox_proven_at: null })).toBe(false)
})

test('a link alone leaves an account unproven, and a proven account stays so', () => {
  expect(verifiedByLink(5, { made_by: 'self', ...never })).toEqual({
    ...{ email_verified_at: 5, first_verified_at: 5, link_verified_at: 5 },
  })
  const moved = { made_by: 'self', ...proven, email_verified_at: null, mailbox_proven_at: null } as const
  expect(verifiedByLink(5, moved)).toEqual({ email_verified_at: 5, first_verified_at: 1, link_verified_at: null })
  expect(verifiedNow(5)).toEqual({
    ...{ email_verified_at: 5, first_verified_at: 5 },
    link_verified_at: null,
    mailbox_proven_at: 5,
  })
  expect(verifiedNow(5, { made_by: 'self', ...clicked })).toEqual({
    ...{ email_verified_at: 5, first_verified_at: 1, link_verified_at: null, mailbox_proven_at: 5 },
  })
})
