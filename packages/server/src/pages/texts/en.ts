import { html } from '../../lib/html.ts'
import { en as account } from './account/en.ts'
import { deviceTexts } from './device-texts.ts'
import { minutesIn } from './minutes.ts'
import type { PageTexts } from './page-texts.ts'

const { ahead } = minutesIn('en-GB')
const nothingMore = 'There is nothing more to do here.'
const cannotWork = 'This sign-in cannot work'
const threeWords = 'Several unrelated words are easy to remember.'

export const en: PageTexts = {
  language: 'en',
  locale: 'en-GB',
  footer: { help: 'Help', terms: 'Terms', privacy: 'Privacy' },
  optional: '(optional)',
  fields: {
    email: 'E-mail address',
    password: 'Password',
    newPassword: 'New password',
    newPasswordAgain: 'New password again',
    account: 'Account',
    firstName: 'First name',
    lastName: 'Last name',
    twoFactorCode: 'Two-factor code',
    mailCode: 'Code from the mail',
  },
  hints: {
    twoFactorCode: 'From your authenticator app, or one of your recovery codes.',
    mailCode: 'Six digits.',
    newPassword: (least) => `At least ${least} characters. ${threeWords}`,
    passwordOf: (app) => `The password of the account for ${app}.`,
    passwordOrNew: (app, least) =>
      `The password you use for ${app}. If you have no account yet, choose one of at least ${least} characters.`,
  },
  faults: {
    required: (label) => `${label} is required`,
    no_email: (label) => `${label} must be an e-mail address`,
    too_short: (label, least) => `${label} must have at least ${least} characters`,
    too_long: (label, most) => `${label} must have at most ${most} characters`,
    too_many_bytes: (label, most) => `${label} must have at most ${most} bytes`,
    too_common: (label) => `${label} is one of the most common passwords`,
    is_email: (label) => `${label} must not be the e-mail address`,
    no_match: (label) => `${label} does not match the first one`,
    wrong: (label) => `${label} is wrong`,
    wrong_or_used: (label) => `${label} is wrong or was already used`,
    wrong_for_account: (label) =>
      `${label} is wrong: there is an account with this address. If you do not know its password, set a new one with "forgot password" where you sign in`,
    invalid: (label) => `${label} is not valid`,
  },
  refusals: {
    twoFactorRequired: 'This account has a second factor. Enter your password again, together with the code.',
    enrol: (app) =>
      `${app} asks for a second factor, and this account has none. Sign in to ${app} to set one up. Then open this link again.`,
    passkeyOnly: (app) =>
      `${app} asks for the passkey of this account, which this page cannot do. Sign in to ${app} with it, and enter the invitation there.`,
    anotherTwoFactorCode: 'Enter your password again, together with another code.',
    locked: (minutes) => `This account is locked after too many failed attempts. Try again ${ahead(minutes)}.`,
    limited: (minutes) => `Too many attempts. Try again ${ahead(minutes)}.`,
    suspended: (app) => `This account is suspended. Ask the people who run ${app} what you can do.`,
    noAccess: (app) => `This account has no access to ${app}. Ask the person who invited you to give it access.`,
    domain: (app) => `${app} does not accept addresses of this domain.`,
    wrongCredentials: 'The e-mail address or the password is wrong.',
    passkey: 'This passkey does not work here. Sign in another way.',
    userExists: 'There is already an account with this e-mail address. Sign in instead, or set a new password.',
    invitation: 'The invitation is no longer good, or is for another e-mail address.',
    linkRequired: 'There is already an account with this e-mail address. Sign in to it with its password.',
    wayClosed: 'This way to sign in is not open here. Choose another one.',
    noEmailOfProvider: 'The provider did not tell your e-mail address. Sign in another way.',
    signUpClosed: (app) => `${app} takes no new accounts.`,
    tooLong: 'That took too long. Sign in again.',
    unverified: 'Verify your e-mail address first, with the link that was mailed to you.',

    other: 'This is not possible here.',
  },
  providers: {
    continueWith: (provider) => `Continue with ${provider}`,
    or: 'or',
    denied: 'The provider did not sign you in.',
    unreachable: 'The provider cannot be reached at the moment. Sign in another way, or try again later.',
    tooOld: 'The provider did not ask you to sign in again. Sign in another way.',
    broken: 'The provider gave an answer that cannot be used. Sign in another way.',
  },
  signIn: {
    title: 'Sign in',
    button: 'Sign in',
    keep: 'Keep me signed in',
    trust: (days) =>
      days === 1 ? 'Don’t ask again in this browser for a day' : `Don’t ask again in this browser for ${days} days`,
    mailCode: 'E-mail me a code',
    forgot: 'Forgot password?',
    create: 'Create account',
    passkey: 'Use a passkey',
    anotherWay: 'Sign in another way',
    anotherAccount: 'Use another account',
    back: 'Back',
    continue: 'Continue',
    invitedTo: (organization) => html`You are invited to ${organization}.`,
    signedInAs: (email) => html`You are signed in as ${email}.`,
    signingInAs: (email) => html`Signing in as ${email}.`,
    leadsTo: (host) => html`You go on to ${host}.`,
  },
  secondFactor: {
    title: 'Enter your code',
    passkey: 'Use your passkey',
    why: (app) => html`${app} asks for a second factor.`,
    missing: { title: 'You need a second factor', text: 'Your account has none yet.' },
  },
  create: { title: 'Create your account', button: 'Create account', instead: 'Sign in instead' },
  named: {
    noAccount: (email, app) => html`There is no account for ${email} at ${app} yet.`,
    signedInAs: (email) => html`You are signed in as ${email}. That ends in this browser.`,
    continueAs: (email) => `Continue as ${email}`,
  },
  join: {
    title: (organization) => `Join ${organization}`,
    text: (organization, app, host) =>
      html`You are invited to become a member of ${organization}. Then you go on to ${app} at ${host}.`,
    button: 'Join',
  },
  organization: { title: 'Choose an organization', legend: 'Sign in for', none: 'No organization' },
  continueTo: (app) => `Continue to ${app}`,
  askMail: {
    reset: { title: 'Forgot your password?', text: 'We mail you a code, with which you can set a new password.' },
    signIn: { title: 'Sign in by e-mail', text: 'We mail you a code, with which you sign in.' },
    button: 'Send the code',
  },
  mail: {
    title: 'Check your mail',
    onItsWay: (email) => html`A mail with a code is on its way to ${email}.`,
    ifThereIs: (email) => html`If there is an account for ${email}, a mail with a code is on its way.`,
    opened: (email) => html`You opened the link that was mailed to ${email}.`,
    again: 'Send it again',
    setPassword: 'Set the new password',
    confirm: 'Confirm',
    confirmTitle: 'Confirm your e-mail address',
    newPasswordTitle: 'Choose a new password',
  },
  verify: {
    title: 'Verify your e-mail address',
    button: 'Send me a code',
    why: (app) => html`${app} asks for a verified e-mail address.`,
    toAsk: 'You can ask for it once your address is verified.',
  },
  refused: {
    unknownHere: {
      title: 'This account is not known here',
      text: (app) => html`${app} does not know this account. If you have another one, use that.`,
    },
    noAccess: {
      title: 'You don’t have access yet',
      text: (app) => html`You don’t have access to ${app} yet. An admin can give it to you.`,
      ask: 'Ask for access',
      asked: 'You have asked for access. You get a mail when an admin has decided.',
    },
    noMember: {
      title: 'You are not a member of this organization',
      text: 'Ask an admin of the organization to invite you.',
    },
    suspended: {
      title: 'Your account is suspended',
      text: (app) => html`Ask the people who run ${app} what you can do.`,
    },
    appInactive: {
      title: 'This app is switched off',
      text: (app) => html`Nobody can enter ${app} at the moment. Try again later.`,
    },
    other: { title: 'You cannot enter this app', text: (app) => html`You cannot enter ${app}.` },
  },
  device: deviceTexts.en,
  signOut: {
    title: 'Sign out',
    text: 'Sign out in this browser, and in the apps that you entered from it?',
    button: 'Sign out',
    done: {
      title: 'You are signed out',
      text: 'You are signed out in this browser, and in the apps that you entered from it.',
    },
  },
  goTo: (app) => html`Go to ${app}`,
  requestFaults: {
    unknownApp: {
      title: 'This app is not known here',
      text: html`No app has the <code>client_id</code> of this link.`,
    },
    inactiveApp: { title: 'This app is switched off', text: 'Nobody can sign in to it at the moment. Try again later.' },
    title: cannotWork,
    redirectMissing: html`The link has no <code>redirect_uri</code>.`,
    redirectUnknown: html`The <code>redirect_uri</code> of this link is not one of the redirect URLs of the app.`,
    redirectPrefixesOnly: html`All redirect URLs of the app end in <code>*</code>. An admin has to add the exact URL.`,
    goBack: 'Go back to the app, and tell its developers if it happens again.',
  },
  codeElsewhere: {
    title: 'Type the code where you asked for it',
    text: 'The mail has a code of six digits. Type it on the page where you asked for the mail. This browser is not signed in.',
  },
  elsewhere: {
    title: 'Go back to where you began',
    text: 'This sign-in began in another browser. Go on there, or start again from the app.',
  },
  tooOld: {
    title: 'This page is too old',
    text: 'The page was open for too long, or your browser does not keep cookies.',
    startAgain: 'Start again',
    goBack: 'Go back to the app, and sign in again.',
  },
  foreignForm: {
    title: 'This form is not ours',
    text: 'Another site sent this form, so it was not read. Go back to the app, and sign in from there.',
  },
  deadLink: {
    title: 'This link does not work',
    text: 'It may have been used already, be too old, or have been replaced by a newer one.',
    advice: {
      '/verify-email':
        'If you already confirmed your address, you are done. If not, request another mail where you registered, and open its link.',
      '/disown-email': 'If you already answered this mail, or requested a newer one, there is nothing to do here.',
      '/confirm-email':
        'If you already confirmed the address, you are done. If not, request the change again where you are signed in.',
      '/undo-email-change': 'If you already took the change back, you are done. If not, contact the people who run the service.',
      '/delete-account': 'If you already deleted the account, you are done. If not, ask again where you are signed in.',
      '/secure-account':
        'If you already ended your sessions, you are done. If not, set a new password with "forgot password" where you sign in.',
      '/reset-password': 'If you still need a new password, request another mail with "forgot password", and open its link.',
      '/magic-link': 'To sign in, request another mail where you want to sign in, and open its link within 15 minutes.',
      '/accept-invitation':
        'If you already accepted the invitation, you are done. If not, ask the person who invited you for another one.',
      '/oauth/mail': 'Ask for another mail where you signed in.',
    },
  },
  unreadableForm: { title: 'This form cannot be read', text: 'Open the link of the mail again.' },
  errors: {
    tooMany: 'Too many requests',
    unavailable: 'The service cannot do this right now',
    internal: 'Something went wrong on our side',
    locked: 'The account is locked after too many failed logins',
    wait: 'Wait a little, go back, and try again.',
    goBack: 'Go back to where you came from, and try again.',
    startAgain: 'Start the login again.',
    other: 'This did not work',
    help: (requestId) => `If it happens again, tell the people who run this service the number of this request: ${requestId}`,
  },
  apiErrors: {
    invalid_sso_state: 'This third-party login is unknown, has expired, or was answered before',
    auth_method_not_allowed: 'This app does not allow this way to sign in',
    sso_provider_disabled: 'The provider is disabled',
    app_inactive: 'The app is inactive',
  },
  welcome: {
    title: 'You sign in here, for your apps',
    what: 'This service keeps your account and signs you in to the apps of your organization. There is nothing to do on this page.',
    how: 'To sign in, open the app that you want to use. It brings you here, and you come back to it signed in. If a mail from this service brought you here, open the link in that mail.',
    developers: (reference) => html`For developers: ${reference}`,
    reference: 'the API reference',
  },
  links: {
    confirm: {
      title: 'Confirm your e-mail address',
      text: (email) => html`Is ${email} your address?`,
      button: 'Yes, confirm it',
    },
    notMine: {
      text: 'If you did not choose a password, someone else entered your address. Set a password of your own: that ends what they set up. If a sign-in then asks for a code that you did not set up, use a sign-in link by e-mail instead.',
      button: 'I don’t know this password',
    },
    allowChange: {
      title: 'Change your e-mail address?',
      text: (email, newEmail) =>
        html`Someone who is signed in to your account wants to change its address from ${email} to ${newEmail}. If that was not you, close this page, and set a password with "forgot password" where you sign in.`,
      button: 'Allow the change',
    },
    confirmNew: (email) => html`Is ${email} the new address of your account? If you did not ask for this, close the page.`,
    newAddressCode: {
      text: (email, app) =>
        html`To make ${email} the address of your account, copy this code into ${app}, where you are signed in.`,
      label: 'Confirmation code',
      after: 'If you did not ask for this, close the page.',
    },
    changeAllowed: {
      title: 'Look into the new mailbox',
      text: (newEmail) => html`We are mailing a link to ${newEmail}. Your address changes when you confirm it there.`,
    },
    delete: {
      title: 'Delete your account?',
      text: (email) => html`This deletes the account of ${email}, in every app that it can enter. It cannot be undone.`,
      button: 'Delete the account',
    },
    deleted: 'Your account is deleted',
    nothingMore,
    resetMailed: {
      title: 'Look into your mailbox',
      text: (email) =>
        html`We are mailing a link to ${email}. Open it to set a new password. If no mail arrives, you have had several in the last minutes: try again later.`,
    },
    disown: {
      title: 'Was this not you?',
      text: (email, app) =>
        html`Someone gave ${email} to ${app}. If that was not you, delete the account that was created with it.`,
      button: 'It was not me: delete the account',
    },
    disowned: {
      title: 'Thank you',
      text: `The account is deleted, unless someone has already confirmed it with its password. ${nothingMore}`,
    },
    secure: {
      title: 'Was this not you?',
      text: (email) =>
        html`This ends every session of the account of ${email}, in every app and browser, and the password stops working. We mail you a link to set a new one.`,
      button: 'End every session',
    },
    secured: {
      title: 'Every session has ended',
      text: (email) => html`We have mailed a link to ${email} to set a new password.`,
    },
    undo: {
      title: 'Take back your e-mail address?',
      text: (email) =>
        html`The address of your account was changed from ${email} to another one. If that was not you, take it back. This ends every session of the account, and removes the password, the second factor and the providers that came after the change.`,
      button: 'Take it back',
    },
    undone: {
      title: 'Your e-mail address is back',
      text: (email, app) =>
        html`The address of your account is ${email} again. Now set a new password: we are mailing you a link for that. If no mail arrives, use "forgot password" where you sign in to ${app}.`,
    },
    confirmed: 'Your e-mail address is confirmed',
    passwordSet: {
      title: 'Your new password is set',
      text: (app) => html`You can sign in to ${app} with it now. You have been signed out everywhere.`,
    },
    signInTo: (app) => `Sign in to ${app}`,
    signInText: 'If you did not ask for this, close the page. Nothing happens then.',
    code: {
      title: 'Your sign-in code',
      text: (app, minutes) =>
        html`Copy this code into ${app}. It works once, for ${minutes} more ${minutes === 1 ? 'minute' : 'minutes'}.`,
      label: 'Sign-in code',
      after: 'Anyone who has it can sign in as you. Do not share it, and do not enter it anywhere else.',
    },
    continueTo: (app) => html`Continue to ${app}`,
  },
  invitation: {
    title: (organization) => `You are invited to ${organization}`,
    text: (app) => html`Accept with your account for ${app}. If you have none, one is created for you.`,
    button: 'Accept the invitation',
    accepted: (organization) => `You are a member of ${organization}`,
    accountReady: 'Your account is ready.',
    access: {
      granted: (app) => html`You can sign in to ${app} now.`,
      pending: (app) => html`You do not have access to ${app} yet. Ask the person who invited you.`,
      unverified: (app) => html`Open the link that was mailed to you. Then you can sign in to ${app}.`,
      unenrolled: (app) => html`${app} asks for a second factor. Sign in there to set one up.`,
    },
    code: {
      text: (organization) => html`Sign in or register where ${organization} asked you to, and enter this invitation code there.`,
      label: 'Invitation code',
      after: 'If you do not know where that is, ask the person who invited you.',
    },
  },
  account,
  enrolment: {
    title: 'Set up your authenticator app',
    scan: 'Scan this picture with an authenticator app on your phone.',
    picture: 'QR code that holds the secret below',
    secret: 'Or type this secret into the app',
    code: 'Code that the app shows',
    button: 'Turn on',
  },
  recoveryCodes: {
    title: 'Your recovery codes',
    text: 'Each of these codes works once in place of a code from the app. Keep them where you can find them without your phone: they are shown only now.',
    label: 'Recovery codes',
    button: 'I have kept them',
  },
  passkeys: {
    title: 'Your passkeys',
    none: 'You have no passkey yet. With one, you sign in as you unlock your device: by fingerprint, face or PIN.',
    added: (day) => `Added ${day}.`,
    lastUsed: (day) => `Last used ${day}.`,
    notUsed: 'Not used yet.',
    synchronized: 'It is synchronized between your devices.',
    elsewhere: (host) => html`It belongs to ${host} and does not work here.`,
    noAddress: 'This service has no address at which passkeys work.',
    rename: 'Rename',
    remove: (name) => `Remove ${name}`,
    name: 'Name',
    add: 'Add a passkey',
    newName: 'Name of the new passkey',
    newNameValue: 'My device',
    newNameHint: 'So that you know it again.',
    needsScript: 'Passkeys need JavaScript.',
    signInAgain: 'Sign in again to change something',
    comeBack: 'To change something, sign in to an app again, and come back within ten minutes.',
    noneUsed: 'No passkey was used. Try again, or sign in another way.',
    noneMade: 'No passkey was made. This device may have one for you already.',
    noApp: {
      title: 'Open this page from one of your apps',
      text: 'You are not signed in here, and the address names no app.',
    },
    refusals: {
      last: 'This is your only way to sign in. Set a password or add another passkey first.',
      known: 'This passkey is in use here already.',
      limit: 'You have as many passkeys as you can have. Remove one first.',
      tooLong: 'That took too long. Try again.',
      gone: 'This passkey was removed already.',
      other: 'This passkey cannot be used here. Try another device.',
    },
  },
}
