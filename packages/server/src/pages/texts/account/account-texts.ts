import type { AccountSection } from '../../../lib/account-sections.ts'
import type { Html } from '../../../lib/html.ts'

/** What the account page says after a change. */
export const doneWords = [
  'saved',
  'email_mailed',
  'email_allow_mailed',
  'email_changed',
  'password_set',
  'two_factor_removed',
  'session_ended',
  'signed_out_elsewhere',
  'browser_forgotten',
  'unlinked',
  'connected',
  'left',
  'joined',
  'asked',
] as const
export type DoneWord = (typeof doneWords)[number]

/** The texts of the account page in one language. */
export interface AccountTexts {
  title: string
  back: string
  sections: Readonly<Record<Exclude<AccountSection, 'overview'>, string>>
  save: string
  done: Readonly<Record<DoneWord, string>>
  /** Asks for what a person signs in with, before something is changed. */
  prove: { title: string; text: string; passkey: string; button: string }
  refusals: {
    fresh: string
    password: string
    lastOrganizationAdmin: string
    lastAdmin: string
    emailTaken: string
    notConfirmed: string
    gone: string
  }
  profile: { language: string; anyLanguage: string }
  email: {
    present(email: Html): Html
    unverified: string
    newEmail: string
    how: string
    howWithoutPassword: string
    button: string
    code: string
    codeHint: string
    confirm: string
  }
  password: { some: string; none: string; effect: string; button: string }
  twoFactor: {
    none: string
    setUp: string
    active(day: string): string
    codesLeft(count: number): string
    remove: string
    moreCodes: string
    renewCodes: string
    startAgain: string
  }
  sessions: {
    thisBrowser: string
    browser: string
    app(app: Html): Html
    since(day: string): string
    lastUsed(day: string): string
    end(name: string): string
    endElsewhere: string
    trusted: string
    trustedText: string
    until(day: string): string
    forget(name: string): string
  }
  identities: {
    none: string
    linked(day: string): string
    unlink(provider: string): string
    connect(provider: string): string
    refusals: { inUse: string; failed: string }
  }
  organizations: {
    none: string
    leave(organization: string): string
    invitations: string
    until(day: string): string
    accept(organization: string): string
  }
  apps: {
    none: string
    until(day: string): string
    ended: string
    asked: string
    ask(app: string): string
    open(app: string): string
  }
  data: { text: string; button: string }
  delete: { text(email: Html): Html; confirm: string; button: string; done: { title: string; text: string } }
}
