import type { WrittenMail } from '../lib/mail.ts'
import {
  accessDecidedMail,
  accessRequestedMail,
  actionMail,
  invitationMail,
  noticeMail,
  type Sender,
  testMail,
} from './templates.ts'
import { actionPurposes, noticePurposes } from './texts/mail-texts.ts'

export type { Sender }

/** Every mail that there is. */
export const sampleMails = [
  ...actionPurposes,
  'invitation',
  'access_requested',
  'access_approved',
  'access_denied',
  ...noticePurposes,
  'test',
] as const
type SampleMail = (typeof sampleMails)[number]

const at = Date.UTC(2026, 10, 26, 15, 4)
const origin = {
  at,
  ip: '203.0.113.7',
  userAgent: 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36',
}

/** A mail as its readers would get it, about somebody who is not there. Its links lead nowhere. */
export function writeSample(sender: Sender, name: SampleMail): WrittenMail {
  const link = (path: string) => `https://${sender.service}/${path}?token=gmt_example`
  const action = actionPurposes.find((purpose) => purpose === name)
  if (action) {
    const code = action === 'reset_password' || action === 'magic_link' ? '482915' : undefined
    const facts = { link: link('example'), origin, newEmail: 'ada@new.example.com', code, disownLink: link('disown-email') }
    return actionMail(sender, action, facts)
  }
  const notice = noticePurposes.find((purpose) => purpose === name)
  if (notice) return noticeMail(sender, notice, { ...origin, provider: 'google' })
  switch (name) {
    case 'invitation':
      return invitationMail(sender, { name: 'Acme', code: 'acme' }, link('accept-invitation'), at)
    case 'access_requested':
      return accessRequestedMail(sender, { email: 'ada@example.com', requestId: '0193a0e4-0000-7000-8000-000000000000' })
    case 'access_approved':
      return accessDecidedMail(sender, { isApproved: true, reason: null })
    case 'access_denied':
      return accessDecidedMail(sender, { isApproved: false, reason: 'Ask your manager first' })
    default:
      return testMail(sender)
  }
}
