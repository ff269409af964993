import type { MailTexts } from './mail-texts.ts'

const day = 'The link works once, for 24 hours.'
const hour = 'The link works once, for one hour.'
const newPassword = 'set a new password with "Forgot password?" now'
const passive = 'If you did not ask for this, ignore this mail. Nothing happens without it.'

export const en: MailTexts = {
  locale: 'en-GB',
  hello: 'Hello,',
  leadsTo: (label) => `${label}:`,
  byLink: 'If the button does not work, open this link:',
  byCode: 'Or type this code on the page where you asked for it:',
  where: (place) => `When and where: ${place}`,
  on: (program, system) => `${program} on ${system}`,
  from: (address) => `from ${address}`,
  contact: (app, support) => (support === undefined ? `Tell the people who run ${app}.` : `Contact ${support}.`),
  help: (support) => `Help: ${support}`,
  sentFor: (service, app) => `${service} sent you this mail for ${app}.`,
  sentBy: (service) => `${service} sent you this mail.`,
  because: {
    asked: 'You get it because someone entered this e-mail address there.',
    changed: 'You get it because something about your account has changed.',
    askedInside: 'You get it because someone who is signed in to your account asked for this.',
    tried: 'You get it because someone tried to sign in to your account.',
    signedIn: 'You get it because someone signed in to your account.',
    invited: 'You get it because someone invited this e-mail address.',
    requested: 'You get it because you asked for access.',
    administers: 'You get it because you decide about access.',
    tested: 'You get it because an administrator tested the mail.',
  },
  actions: {
    verify_email: {
      subject: (app) => `Confirm your e-mail address for ${app}`,
      intro: (app) => `Someone, most likely you, gave this e-mail address to ${app}. Confirm that it is yours.`,
      button: 'Confirm the e-mail address',
      after: [day],
    },
    change_email: {
      subject: (app) => `Confirm your new e-mail address for ${app}`,
      intro: (app) =>
        `Someone, most likely you, wants to use this e-mail address for an account of ${app}. Confirm that it is yours.`,
      button: 'Use this e-mail address',
      after: [day, 'If this was not you, do not open the link. The account is not yours.'],
    },
    allow_email_change: {
      subject: (app) => `Allow another e-mail address for ${app}`,
      intro: (app, newEmail) =>
        `Someone who is signed in to your account for ${app}, most likely you, wants to change its e-mail address to ${newEmail}.`,
      button: 'Allow the change',
      after: [day, `If this was not you, do not open the link, and ${newPassword}. That ends every session.`],
    },
    undo_email_change: {
      subject: (app) => `Your e-mail address for ${app} was changed`,
      intro: (app) => `The e-mail address of your account for ${app} was changed to another one.`,
      button: 'Undo the change',
      after: [
        'If this was you, you need not do anything.',
        'If this was not you, undo the change. That brings this address back, ends every session of the account, and removes the password, the second factor and the providers that came after the change.',
        'The link works once, for 72 hours. Then set a new password with the mail that you get.',
      ],
    },
    delete_account: {
      subject: (app) => `Delete your account for ${app}`,
      intro: (app) => `Someone who is signed in to your account for ${app}, most likely you, wants to delete it.`,
      button: 'Delete the account',
      after: [hour, `If this was not you, do not open the link, and ${newPassword}. That ends every session.`],
    },
    reset_password: {
      subject: (app) => `Set a new password for ${app}`,
      intro: (app) => `Someone, most likely you, asked for a new password for ${app}.`,
      button: 'Choose a new password',
      after: [`${hour} Your current password stays valid until you have chosen a new one.`, passive],
    },
    magic_link: {
      subject: (app) => `Sign in to ${app}`,
      intro: (app) => `Someone, most likely you, wants to sign in to ${app} with this e-mail address.`,
      button: 'Sign in',
      after: ['The link works once, for 15 minutes. Anyone who has it can sign in as you. Do not share it.', passive],
      afterWithCode: [
        'The link works once, for 15 minutes, and the code for 10. Anyone who has one of them can sign in as you. Do not share them.',
        passive,
      ],
    },
    new_sign_in: {
      subject: (app) => `New sign-in to ${app}`,
      intro: (app) => `Someone has signed in to ${app} with your account, from a browser that has not done so before.`,
      button: 'This was not me',
      after: [
        'If this was you, you need not do anything.',
        'If this was not you, open the link. The page that opens ends every session of your account when you say so, and mails you a link to set a new password. The link works once, for 72 hours.',
      ],
    },
  },
  disown: {
    text: 'If this was not you, open this link instead. It deletes the account, unless someone has confirmed it with its password.',
    label: 'This was not me',
  },
  invitation: {
    subject: (app) => `You are invited to an organization at ${app}`,
    intro: (organization, app) => `You are invited to become a member of ${organization} at ${app}.`,
    button: 'Accept the invitation',
    until: (time) => `The link works once, until ${time}.`,
    after: 'If you do not know who invites you, ignore this mail.',
  },
  accessRequested: {
    subject: (app) => `A user asks for access to ${app}`,
    intro: (app, user) => `The user ${user} asks for access to ${app}.`,
    decide: 'Approve or deny the request:',
  },
  accessApproved: {
    subject: (app) => `You have access to ${app} now`,
    text: (app) => `You have access to ${app} now. Sign in as usual.`,
  },
  accessDenied: {
    subject: (app) => `Your request for access to ${app} was turned down`,
    text: (app) => `Your request for access to ${app} was turned down.`,
    reason: (reason) => `The administrator says: ${reason}`,
  },
  test: {
    subject: (app) => `Test mail for ${app}`,
    text: 'Mail reaches you, and this is how it looks. There is nothing to do.',
  },
  advice: `If this was not you, ${newPassword}.`,
  notices: {
    password_changed: {
      subject: (app) => `Your password for ${app} was changed`,
      text: () => 'The password of your account was changed.',
    },
    password_reset: {
      subject: (app) => `Your password for ${app} was reset`,
      text: () => 'The password of your account was reset with a mail to this address. Every session of the account has ended.',
    },
    two_factor_activated: {
      subject: (app) => `Two-factor authentication for ${app} was turned on`,
      text: () => 'Two-factor authentication was turned on for your account.',
    },
    two_factor_disabled: {
      subject: (app) => `Two-factor authentication for ${app} was turned off`,
      text: () => 'Two-factor authentication was turned off for your account.',
    },
    two_factor_removed: {
      subject: (app) => `Two-factor authentication for ${app} was turned off`,
      text: () => 'An administrator turned two-factor authentication off for your account.',
    },
    two_factor_locked: {
      subject: (app) => `Wrong two-factor codes for your account for ${app}`,
      text: () =>
        'Someone passed your first factor, for example your password, and then sent too many wrong two-factor codes. Codes for your account are refused for a while, and for longer each time this happens.',
      advice: `If this was not you, ${newPassword}. If codes stay refused, ask for your account to be unlocked.`,
    },
    recovery_codes_renewed: {
      subject: (app) => `New recovery codes for ${app}`,
      text: () => 'Your account was given new recovery codes. The old ones no longer work.',
    },
    credentials_removed: {
      subject: (app) => `Your e-mail address for ${app} was confirmed`,
      text: () =>
        'Your e-mail address was confirmed by the first sign-in with it. The account had been created before anyone had proven that the address is theirs, so its password, its second factor, its linked providers, its names, its organization memberships and its sessions were removed.',
      advice: 'To sign in with a password again, set a new one with "Forgot password?".',
    },
    email_change_requested: {
      subject: (app) => `Another e-mail address was requested for ${app}`,
      text: () =>
        'Someone who knows the password of your account asked to change its e-mail address. Nothing changes until the new address is confirmed. Then you get another mail here, with a link that undoes the change.',
      advice: `If this was not you, ${newPassword}. That also drops the change.`,
    },
    identity_linked: {
      subject: (app) => `A way to sign in to ${app} was added`,
      text: (provider) =>
        `The provider ${provider} was added to the ways to sign in to your account. Anyone who signs in there, with the account that was used for this, is signed in as you.`,
      advice: `If this was not you, ${newPassword}, which ends every session. Then remove this way to sign in from your account.`,
    },
    identity_unlinked: {
      subject: (app) => `A way to sign in to ${app} was removed`,
      text: (provider) => `The provider ${provider} was removed from the ways to sign in to your account.`,
    },
    identity_removed: {
      subject: (app) => `A way to sign in to ${app} was removed`,
      text: (provider) => `An administrator removed the provider ${provider} from the ways to sign in to your account.`,
    },
    passkey_added: {
      subject: (app) => `A passkey was added to your account for ${app}`,
      text: () =>
        'A passkey was added to the ways to sign in to your account. Anyone who can unlock the device that has it is signed in as you.',
      advice: `If this was not you, ${newPassword}, which ends every session. Then remove the passkey on your account page.`,
    },
    passkey_removed: {
      subject: (app) => `A passkey was removed from your account for ${app}`,
      text: () => 'A passkey was removed from the ways to sign in to your account. It does not sign you in any more.',
    },
    account_deleted: {
      subject: (app) => `Your account for ${app} was deleted`,
      text: () => 'Your account was deleted, as requested from one of its sessions. Every session of it has ended.',
      advice: 'If this was not you, get help now.',
    },
  },
}
