import type { ActionPurpose, NoticePurpose } from '../../mail/texts/mail-texts.ts'

/** What the token in a mail can be used for. */
export type TokenPurpose = ActionPurpose

/** Whether a message of the outbox asks for a mail with a token. The worker makes the token when it sends. */
export function isTokenPurpose(name: string): name is TokenPurpose {
  return name in tokenLifeMs
}

const minuteMs = 60_000

/** How long a token of each purpose lives (docs/sign-users-in/account-mail.md#tokens). */
export const tokenLifeMs: Record<TokenPurpose, number> = {
  verify_email: 24 * 60 * minuteMs,
  reset_password: 60 * minuteMs,
  magic_link: 15 * minuteMs,
  allow_email_change: 24 * 60 * minuteMs,
  change_email: 24 * 60 * minuteMs,
  undo_email_change: 72 * 60 * minuteMs,
  delete_account: 60 * minuteMs,
  new_sign_in: 72 * 60 * minuteMs,
}

/** How long the code in a mail to sign in with lives. The link beside it lives longer. */
export const signInCodeLifeMs = 10 * minuteMs

/** Where the link of each mail leads, below the origin. */
export const linkPaths = {
  verify_email: '/verify-email',
  reset_password: '/reset-password',
  magic_link: '/magic-link',
  allow_email_change: '/confirm-email',
  change_email: '/confirm-email',
  invitation: '/accept-invitation',
} as const satisfies Partial<Record<TokenPurpose | 'invitation', string>>

/** Pages of the service itself that mails link to. */
export const ownPages = {
  disown_email: '/disown-email',
  undo_email_change: '/undo-email-change',
  delete_account: '/delete-account',
  new_sign_in: '/secure-account',
  /** For a mail that was asked for on the sign-in page. */
  sign_in: '/oauth/mail',
} as const

// The payloads of mails in the outbox, by purpose, which is the name of the message. Live tokens in them are sealed.

export interface TokenMailPayload {
  redirect_url: string | null
  /** When and from where the mail was asked for. */
  asked: { at: number; ip: string | null; user_agent?: string | null; locale?: string | undefined }
  /** For a change of the address. */
  change?: {
    /** The address that the account must have; null for any. */
    account_email: string | null
    /** When the mailbox of the old address was proven. */
    mailbox_proven_at: number | null
    /** The address that the account would get, in a mail to the present one. */
    new_email?: string
    /** When the user asked for the change, if that was before this mail. */
    asked_at?: number
  }
  /** For a mail that carries a code: a `PageOfMail`, sealed for this message. */
  page_box?: string
  /** The user's token version. Whatever raises it drops the change or deletion that the user asked for. */
  token_version?: number
}

/** Who waits for a mail with a code: a browser on our own page, or a client of the API. */
export interface PageOfMail {
  /** The browser that asked on our own page, and the authorization request that it goes on with, sealed for it. */
  browserHash?: string
  requestField?: string
  /** The secret that the code in the mail is made from. */
  codeKey: string
}

export interface InvitationPayload {
  invitation_id: string
  /** The token, sealed for this message. */
  token_box: string
  /** What the one who invites reads. */
  locale?: string | undefined
}

export interface NoticePayload {
  at: number
  ip: string | null
  user_agent: string | null
  /** What the user reads, if the request tells. */
  locale?: string | undefined
  provider: string | null
}

/** For a mail to an admin about a request for access. */
export interface RequestPayload {
  request_id: string
}

/** For the mail to the user who asked for access. */
export interface DecisionPayload {
  reason: string | null
}

export type { NoticePurpose }
