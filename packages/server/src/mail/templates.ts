import { shownAddress } from '../lib/shown-name.ts'
import { iso } from '../lib/timestamps.ts'
import { type MailDraft, type MailText, renderMail } from './render-mail.ts'

/** An app or an organization. `code` is its code or slug, shown in place of a name that cannot be written in ASCII. */
export interface NamedParty {
  name: string
  code: string
}

// No mail contains its reader's name: an attacker who registers another person's address could write to them in our name.

const ignore = 'If you did not ask for this, do nothing: without the link, nothing happens.'

/** When and from where a mail was requested, and the link for a reader who did not request it. */
export interface MailOrigin {
  /** Milliseconds. */
  at: number
  ip: string | null
  disownLink: string
  /** The address that the account would get. */
  newEmail: string | null
  /** For a mail that was asked for on our own page: the code to type there. */
  code: string | undefined
}

/** Only the browser that asked for the mail takes the code, so it is no use to anyone who asks the reader for it by phone. */
function codeParts(code: string | undefined): string[] {
  return code === undefined ? [] : [`Or type this code on the page where you asked for it: ${code}`]
}

export function verificationMail(app: NamedParty, link: string, { at, ip, disownLink, code }: MailOrigin): MailText {
  return renderMail((show) => {
    const place = show(app.name, app.code)
    return {
      subject: `Confirm your e-mail address for ${place}`,
      parts: [
        'Hello,',
        `someone, most likely you, gave this e-mail address to ${place}. Open this link to confirm that it is yours:`,
        { link, label: 'Confirm the e-mail address' },
        ...codeParts(code),
        'It works once, for 24 hours.',
        `Time: ${minuteOf(at)}.`,
        ...(ip === null ? [] : [`Address: ${show(ip, 'not readable')}`]),
        'If this was not you, open this link instead: it deletes the account, unless someone has confirmed it with its password.',
        { link: disownLink, label: 'This was not me' },
      ],
    }
  })
}

export function changeMail(app: NamedParty, link: string, { at, ip }: MailOrigin): MailText {
  return renderMail((show) => {
    const place = show(app.name, app.code)
    return {
      subject: `Confirm your new e-mail address for ${place}`,
      parts: [
        'Hello,',
        `someone, most likely you, wants to use this e-mail address for an account of ${place}. Open this link to confirm that it is yours:`,
        { link, label: 'Use this e-mail address' },
        'It works once, for 24 hours.',
        `Time: ${minuteOf(at)}.`,
        ...(ip === null ? [] : [`Address: ${show(ip, 'not readable')}`]),
        'If this was not you, do not open the link: the account is not yours.',
      ],
    }
  })
}

/** Sent to the present address of an account without a password. */
export function allowChangeMail(app: NamedParty, link: string, { at, ip, newEmail }: MailOrigin): MailText {
  return renderMail((show) => {
    const place = show(app.name, app.code)
    return {
      subject: `Allow another e-mail address for ${place}`,
      parts: [
        'Hello,',
        `someone who is signed in to your account for ${place}, most likely you, wants to change its e-mail address to ${show(newEmail ?? '', 'another one')}. Open this link to allow that:`,
        { link, label: 'Allow the change' },
        'It works once, for 24 hours.',
        `Time: ${minuteOf(at)}.`,
        ...(ip === null ? [] : [`Address: ${show(ip, 'not readable')}`]),
        'If this was not you, do not open the link. Set a password with "forgot password" now, which ends every session.',
      ],
    }
  })
}

/** Sent to the address of an account without a password. */
export function deletionMail(app: NamedParty, link: string, { at, ip }: MailOrigin): MailText {
  return renderMail((show) => {
    const place = show(app.name, app.code)
    return {
      subject: `Delete your account for ${place}`,
      parts: [
        'Hello,',
        `someone who is signed in to your account for ${place}, most likely you, wants to delete it. Open this link to delete the account:`,
        { link, label: 'Delete the account' },
        'It works once, for one hour.',
        `Time: ${minuteOf(at)}.`,
        ...(ip === null ? [] : [`Address: ${show(ip, 'not readable')}`]),
        'If this was not you, do not open the link. Set a password with "forgot password" now, which ends every session.',
      ],
    }
  })
}

/** Sent to the previous address of an account. */
export function undoMail(app: NamedParty, link: string, { at, ip }: MailOrigin): MailText {
  return renderMail((show) => {
    const place = show(app.name, app.code)
    return {
      subject: 'Your e-mail address was changed',
      parts: [
        'Hello,',
        `the e-mail address of your account for ${place} was changed to another one.`,
        `Time: ${minuteOf(at)}.`,
        ...(ip === null ? [] : [`Address: ${show(ip, 'not readable')}`]),
        'If this was not you, open this link: it brings this address back, ends every session of the account, and removes the password, the second factor and the providers that came after the change.',
        { link, label: 'Undo the change' },
        'It works once, for 72 hours. Then set a new password with the mail that you get, and tell the people who run the service.',
      ],
    }
  })
}

export function resetMail(app: NamedParty, link: string, { code }: Pick<MailOrigin, 'code'>): MailText {
  return renderMail((show) => {
    const place = show(app.name, app.code)
    return {
      subject: `Set a new password for ${place}`,
      parts: [
        'Hello,',
        `someone, most likely you, asked for a new password for ${place}. Open this link to choose one:`,
        { link, label: 'Choose a new password' },
        ...codeParts(code),
        'It works once, for one hour. Your current password stays valid until you have chosen a new one.',
        ignore,
      ],
    }
  })
}

export function magicLinkMail(app: NamedParty, link: string, { code }: Pick<MailOrigin, 'code'>): MailText {
  return renderMail((show) => {
    const place = show(app.name, app.code)
    return {
      subject: `Sign in to ${place}`,
      parts: [
        'Hello,',
        `open this link to sign in to ${place}:`,
        { link, label: 'Sign in' },
        ...codeParts(code),
        `${code === undefined ? 'It works once, for 15 minutes.' : 'Use one of them, once: the link works for 15 minutes, the code for 10.'} Anyone who has it can sign in as you: do not share it.`,
        ignore,
      ],
    }
  })
}

/** `expiresAt` in milliseconds. */
export function invitationMail(organization: NamedParty, link: string, expiresAt: number): MailText {
  return renderMail((show) => {
    const place = show(organization.name, organization.code)
    return {
      // A stranger may have founded the organization, so the subject, which mail programs show first, has no text of theirs.
      subject: 'You are invited to an organization',
      parts: [
        'Hello,',
        `you are invited to become a member of ${place}. Open this link to accept:`,
        { link, label: 'Accept the invitation' },
        `It works once, until ${minuteOf(expiresAt)}.`,
        'If you do not know who invites you, do nothing.',
      ],
    }
  })
}

/** Sent to an admin. It omits the requester's message: anyone can ask, so admins read messages in a place known to be ours. */
export function accessRequestedMail(app: NamedParty, { email, requestId }: { email: string; requestId: string }): MailText {
  return renderMail((show) => {
    const place = show(app.name, app.code)
    return {
      subject: 'A user asks for access to an app',
      parts: [
        'Hello,',
        `${shownAddress(email) ?? 'A user'} asks for access to ${place}.`,
        'Approve or deny the request:',
        `authctl grant request approve ${requestId}`,
        `authctl grant request deny ${requestId}`,
      ],
    }
  })
}

/** Sent to the user who asked for access. */
export function accessDecidedMail(
  app: NamedParty,
  { isApproved, reason }: { isApproved: boolean; reason: string | null },
): MailText {
  return renderMail((show) => {
    const place = show(app.name, app.code)
    const answer = reason === null ? [] : [`The administrator says: ${show(reason, 'not readable')}`]
    const sentence = isApproved
      ? `you have access to ${place} now. Sign in as usual.`
      : `your request for access to ${place} was turned down.`
    return {
      subject: isApproved ? 'You have access now' : 'Your request for access was turned down',
      parts: ['Hello,', sentence, ...(isApproved ? [] : answer)],
    }
  })
}

/** What changed about an account. */
export const noticePurposes = [
  'password_changed',
  'password_reset',
  'two_factor_activated',
  'two_factor_disabled',
  'two_factor_removed',
  'two_factor_locked',
  'credentials_removed',
  'email_change_requested',
  'identity_linked',
  'identity_unlinked',
  'identity_removed',
  'account_deleted',
] as const
export type NoticePurpose = (typeof noticePurposes)[number]

interface Change {
  subject: string
  sentence: string
  /** What the user should do, if the usual advice does not fit. */
  advice?: string
}

/** `provider` is the code of a provider. Nothing in a code can become a link. */
const whatChanged = (provider: string): Record<NoticePurpose, Change> => ({
  password_changed: { subject: 'Your password was changed', sentence: 'the password of your account was changed.' },
  password_reset: {
    subject: 'Your password was reset',
    sentence: 'the password of your account was reset by a link sent to this address. Every session of the account has ended.',
  },
  two_factor_activated: {
    subject: 'Two-factor authentication was turned on',
    sentence: 'two-factor authentication was turned on for your account.',
  },
  two_factor_disabled: {
    subject: 'Two-factor authentication was turned off',
    sentence: 'two-factor authentication was turned off for your account.',
  },
  two_factor_removed: {
    subject: 'Two-factor authentication was turned off',
    sentence: 'an administrator turned two-factor authentication off for your account.',
  },
  two_factor_locked: {
    subject: 'Wrong two-factor codes for your account',
    sentence:
      'someone passed your first factor, for example your password, and then sent too many wrong two-factor codes. Codes for ' +
      'your account are refused for a while, and for longer each time this happens.',
    advice:
      'If this was not you, set a new password with "forgot password" now. If codes stay refused, ask the people who run the ' +
      'service to unlock your account.',
  },
  credentials_removed: {
    subject: 'Your e-mail address was confirmed',
    sentence:
      'your e-mail address was confirmed by the first sign-in with it. The account had been created before anyone had proven ' +
      'that the address is theirs, so its password, its second factor, its linked providers, its names, its organization memberships ' +
      'and its sessions were removed.',
    advice: 'To sign in with a password again, ask for a new one with "forgot password".',
  },
  email_change_requested: {
    subject: 'Another e-mail address was asked for',
    sentence:
      'someone who knows the password of your account asked to change its e-mail address. Nothing changes until the new address is ' +
      'confirmed; then you get another mail here, with a link that undoes the change.',
    advice:
      'If this was not you, set a new password with "forgot password" now, which also drops the change, and tell the people who run ' +
      'the service.',
  },
  identity_linked: {
    subject: 'A way to sign in was added',
    sentence:
      `the provider ${provider} was added to the ways to sign in to your account: anyone who signs in there, with the account that ` +
      'was used for this, is signed in as you.',
    advice:
      'If this was not you, set a new password with "forgot password" now, which ends every session; then remove this way to sign ' +
      'in from your account, and tell the people who run the service.',
  },
  identity_unlinked: {
    subject: 'A way to sign in was removed',
    sentence: `the provider ${provider} was removed from the ways to sign in to your account.`,
  },
  identity_removed: {
    subject: 'A way to sign in was removed',
    sentence: `an administrator removed the provider ${provider} from the ways to sign in to your account.`,
  },
  account_deleted: {
    subject: 'Your account was deleted',
    sentence: 'your account was deleted, as requested from one of its sessions. Every session of it has ended.',
    advice: 'If this was not you, tell the people who run the service.',
  },
})

const usualAdvice = 'If this was not you, set a new password with "forgot password" now, and tell the people who run the service.'

export interface NoticeFacts {
  /** Milliseconds. */
  at: number
  /** The address of the user who made the change; null if an administrator made it. */
  ip: string | null
  userAgent: string | null
  /** The code of the provider of an identity. */
  provider: string | null
}

/** A notice of a change. It has no link: attackers would imitate a link that can act on the account. */
export function noticeMail(purpose: NoticePurpose, { at, ip, userAgent, provider }: NoticeFacts): MailText {
  const { subject, sentence, advice = usualAdvice } = whatChanged(provider ?? '')[purpose]
  return renderMail((show): MailDraft => {
    const facts = [`Time: ${minuteOf(at)}.`]
    if (ip !== null) facts.push(`Address: ${show(ip, 'not readable')}`)
    if (userAgent !== null) facts.push(`Program: ${show(userAgent, 'not readable')}`)
    return { subject, parts: ['Hello,', sentence, ...facts, advice] }
  })
}

function minuteOf(ms: number): string {
  return `${iso(ms).slice(0, 16).replace('T', ' ')} UTC`
}
