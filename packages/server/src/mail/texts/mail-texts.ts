/** Mails whose link does something. */
export const actionPurposes = [
  'verify_email',
  // To the new address.
  'change_email',
  // To the present address of an account without a password.
  'allow_email_change',
  // To the previous address.
  'undo_email_change',
  'delete_account',
  'reset_password',
  'magic_link',
  // From a browser that is not known.
  'new_sign_in',
] as const
export type ActionPurpose = (typeof actionPurposes)[number]

/** What changed about an account. */
export const noticePurposes = [
  'password_changed',
  'password_reset',
  'two_factor_activated',
  'two_factor_disabled',
  'two_factor_removed',
  'two_factor_locked',
  'recovery_codes_renewed',
  'credentials_removed',
  'email_change_requested',
  'identity_linked',
  'identity_unlinked',
  'identity_removed',
  'passkey_added',
  'passkey_removed',
  'account_deleted',
] as const
export type NoticePurpose = (typeof noticePurposes)[number]

/** Why a mail was sent, as its last lines say. */
export type Reason =
  | 'asked'
  | 'askedInside'
  | 'changed'
  | 'tried'
  | 'signedIn'
  | 'invited'
  | 'requested'
  | 'administers'
  | 'tested'

interface ActionTexts {
  subject(app: string): string
  intro(app: string, newEmail: string): string
  button: string
  after: readonly string[]
  /** In a mail that has a code besides the link, if it has to mention both. */
  afterWithCode?: readonly string[]
}

interface NoticeTexts {
  subject(app: string): string
  text(provider: string): string
  /** What the reader should do, if the usual advice does not fit. */
  advice?: string
}

/**
 * The texts of all mails in one language. None contains the name of its reader: an attacker who registers another person's address
 * could write to them in our name. A subject contains the name of an app, which admins choose, and of nothing else.
 */
export interface MailTexts {
  /** For dates. */
  locale: string
  hello: string
  /** In the text part, before the link of a button. */
  leadsTo(label: string): string
  byLink: string
  byCode: string
  where(place: string): string
  on(program: string, system: string): string
  from(address: string): string
  /** A sentence. */
  contact(app: string, support: string | undefined): string
  help(support: string): string
  sentFor(service: string, app: string): string
  sentBy(service: string): string
  because: Readonly<Record<Reason, string>>
  actions: Readonly<Record<ActionPurpose, ActionTexts>>
  /** For the reader of `verify_email` whose address someone else has entered. */
  disown: { text: string; label: string }
  invitation: {
    subject(app: string): string
    intro(organization: string, app: string): string
    button: string
    until(time: string): string
    after: string
  }
  accessRequested: { subject(app: string): string; intro(app: string, user: string): string; decide: string }
  accessApproved: { subject(app: string): string; text(app: string): string }
  accessDenied: { subject(app: string): string; text(app: string): string; reason(reason: string): string }
  test: { subject(app: string): string; text: string }
  /** After a notice. */
  advice: string
  notices: Readonly<Record<NoticePurpose, NoticeTexts>>
}
