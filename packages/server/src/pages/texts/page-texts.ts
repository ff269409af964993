import type { Html } from '../../lib/html.ts'
import type { Language } from '../../lib/locale.ts'
import type { AccountTexts } from './account/account-texts.ts'
import type { DeviceTexts } from './device-texts.ts'
import type { FaultWord } from './faults.ts'

/** A title, and what stands below it. */
export interface Told {
  title: string
  text: string
}

/** A title, a text and the button below it. */
export interface Asked extends Told {
  button: string
}

/** The mails whose link leads to one of our pages, by the path of the page. */
export type LinkPath =
  | '/verify-email'
  | '/disown-email'
  | '/confirm-email'
  | '/undo-email-change'
  | '/delete-account'
  | '/secure-account'
  | '/reset-password'
  | '/magic-link'
  | '/accept-invitation'
  | '/oauth/mail'

/**
 * The texts of all pages in one language. Values that others chose (names, addresses, hosts) come as `Html`, isolated from the
 * direction of the sentence. A title takes them as text, because it is also the title of the window.
 */
export interface PageTexts {
  language: Language
  /** For dates and numbers. */
  locale: string
  /** Below the card. */
  footer: Readonly<Record<'help' | 'terms' | 'privacy', string>>
  /** After the label of a field. */
  optional: string
  fields: {
    email: string
    password: string
    newPassword: string
    newPasswordAgain: string
    account: string
    firstName: string
    lastName: string
    twoFactorCode: string
    mailCode: string
  }
  hints: {
    twoFactorCode: string
    mailCode: string
    newPassword(least: number): string
    passwordOf(app: string): string
    passwordOrNew(app: string, least: number): string
  }
  /** What is wrong with a field. */
  faults: Readonly<Record<FaultWord, (label: string, limit: number) => string>>
  /** Why a form is shown again. */
  refusals: {
    twoFactorRequired: string
    enrol(app: string): string
    passkeyOnly(app: string): string
    anotherTwoFactorCode: string
    locked(minutes: number): string
    limited(minutes: number): string
    suspended(app: string): string
    noAccess(app: string): string
    domain(app: string): string
    wrongCredentials: string
    passkey: string
    userExists: string
    invitation: string
    linkRequired: string
    wayClosed: string
    noEmailOfProvider: string
    signUpClosed(app: string): string
    tooLong: string
    unverified: string
    other: string
  }
  /** What a provider has answered. */
  providers: {
    continueWith(provider: string): string
    or: string
    denied: string
    unreachable: string
    tooOld: string
    broken: string
  }
  signIn: {
    title: string
    button: string
    keep: string
    trust(days: number): string
    mailCode: string
    forgot: string
    create: string
    passkey: string
    anotherWay: string
    anotherAccount: string
    back: string
    continue: string
    invitedTo(organization: Html): Html
    signedInAs(email: Html): Html
    signingInAs(email: Html): Html
    leadsTo(host: Html): Html
  }
  secondFactor: {
    title: string
    /** For a person whose only second factor is a passkey. */
    passkey: string
    why(app: Html): Html
    /** For a person who has none. */
    missing: Told
  }
  create: { title: string; button: string; instead: string }
  /** A provider has named somebody. */
  named: {
    noAccount(email: Html, app: Html): Html
    signedInAs(email: Html): Html
    continueAs(email: string): string
  }
  join: { title(organization: string): string; text(organization: Html, app: Html, host: Html): Html; button: string }
  organization: { title: string; legend: string; none: string }
  continueTo(app: string): string
  askMail: Readonly<Record<'reset' | 'signIn', Told>> & { button: string }
  mail: {
    title: string
    onItsWay(email: Html): Html
    ifThereIs(email: Html): Html
    opened(email: Html): Html
    again: string
    setPassword: string
    confirm: string
    confirmTitle: string
    newPasswordTitle: string
  }
  verify: { title: string; button: string; why(app: Html): Html; toAsk: string }
  /** Why somebody may not enter an app. */
  refused: {
    unknownHere: { title: string; text(app: Html): Html }
    noAccess: { title: string; text(app: Html): Html; ask: string; asked: string }
    noMember: Told
    suspended: { title: string; text(app: Html): Html }
    appInactive: { title: string; text(app: Html): Html }
    other: { title: string; text(app: Html): Html }
  }
  device: DeviceTexts
  signOut: Asked & { done: Told }
  /** Ends of the way. */
  goTo(app: Html): Html
  requestFaults: {
    unknownApp: { title: string; text: Html }
    inactiveApp: Told
    title: string
    redirectMissing: Html
    redirectUnknown: Html
    redirectPrefixesOnly: Html
    goBack: string
  }
  codeElsewhere: Told
  elsewhere: Told
  tooOld: { title: string; text: string; startAgain: string; goBack: string }
  foreignForm: Told
  deadLink: Told & { advice: Readonly<Record<LinkPath, string>> }
  unreadableForm: Told
  errors: {
    tooMany: string
    unavailable: string
    internal: string
    locked: string
    wait: string
    goBack: string
    startAgain: string
    /** The title of an error that has no other. */
    other: string
    help(requestId: string): string
  }
  /** The errors of the API that a person may meet on the way to a provider and back. */
  apiErrors: Readonly<Record<'invalid_sso_state' | 'auth_method_not_allowed' | 'sso_provider_disabled' | 'app_inactive', string>>
  welcome: { title: string; what: string; how: string; developers(reference: Html): Html; reference: string }
  /** Pages that the link of a mail leads to. */
  links: {
    confirm: { title: string; text(email: Html): Html; button: string }
    notMine: { text: string; button: string }
    allowChange: { title: string; text(email: Html, newEmail: Html): Html; button: string }
    confirmNew(email: Html): Html
    newAddressCode: { text(email: Html, app: Html): Html; label: string; after: string }
    changeAllowed: { title: string; text(newEmail: Html): Html }
    delete: { title: string; text(email: Html): Html; button: string }
    deleted: string
    nothingMore: string
    resetMailed: { title: string; text(email: Html): Html }
    disown: { title: string; text(email: Html, app: Html): Html; button: string }
    disowned: Told
    secure: { title: string; text(email: Html): Html; button: string }
    secured: { title: string; text(email: Html): Html }
    undo: { title: string; text(email: Html): Html; button: string }
    undone: { title: string; text(email: Html, app: Html): Html }
    confirmed: string
    passwordSet: { title: string; text(app: Html): Html }
    signInTo(app: string): string
    signInText: string
    code: { title: string; text(app: Html, minutes: number): Html; label: string; after: string }
    continueTo(app: Html): Html
  }
  invitation: {
    title(organization: string): string
    text(app: Html): Html
    button: string
    accepted(organization: string): string
    accountReady: string
    access: Readonly<Record<'granted' | 'pending' | 'unverified' | 'unenrolled', (app: Html) => Html>>
    code: { text(organization: Html): Html; label: string; after: string }
  }
  account: AccountTexts
  /** Setting up a second factor, here or on the sign-in page. */
  enrolment: { title: string; scan: string; picture: string; secret: string; code: string; button: string }
  recoveryCodes: Told & { label: string; button: string }
  passkeys: {
    title: string
    none: string
    added(day: string): string
    lastUsed(day: string): string
    notUsed: string
    synchronized: string
    elsewhere(host: Html): Html
    noAddress: string
    rename: string
    remove(name: string): string
    name: string
    add: string
    newName: string
    newNameValue: string
    newNameHint: string
    needsScript: string
    signInAgain: string
    comeBack: string
    noneUsed: string
    noneMade: string
    noApp: Told
    refusals: {
      last: string
      known: string
      limit: string
      tooLong: string
      gone: string
      other: string
    }
  }
}
