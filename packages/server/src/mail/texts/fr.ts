import type { MailTexts } from './mail-texts.ts'

// French puts a space that does not break before a colon, a question mark and within quotation marks.
const day = 'Le lien fonctionne une seule fois, pendant 24\u00a0heures.'
const hour = 'Le lien fonctionne une seule fois, pendant une heure.'
const forgot = '«\u00a0Mot de passe oublié\u00a0?\u00a0»'
const newPassword = `choisissez dès maintenant un nouveau mot de passe avec ${forgot}`
const passive = 'Si vous n’avez rien demandé, ignorez cet e-mail. Sans lui, il ne se passe rien.'

/** Readers are addressed as vous. */
export const fr: MailTexts = {
  locale: 'fr-FR',
  hello: 'Bonjour,',
  leadsTo: (label) => `${label}\u00a0:`,
  byLink: 'Si le bouton ne fonctionne pas, ouvrez ce lien\u00a0:',
  byCode: 'Ou saisissez ce code sur la page où vous l’avez demandé\u00a0:',
  where: (place) => `Quand et où\u00a0: ${place}`,
  on: (program, system) => `${program} ${system.startsWith('iP') ? 'sur' : 'sous'} ${system}`,
  from: (address) => `depuis ${address}`,
  contact: (app, support) => (support === undefined ? `Prévenez les personnes qui gèrent ${app}.` : `Contactez ${support}.`),
  help: (support) => `Aide\u00a0: ${support}`,
  sentFor: (service, app) => `${service} vous a envoyé cet e-mail au nom de ${app}.`,
  sentBy: (service) => `${service} vous a envoyé cet e-mail.`,
  because: {
    asked: 'Vous le recevez parce que quelqu’un y a indiqué cette adresse e-mail.',
    changed: 'Vous le recevez parce que votre compte a été modifié.',
    askedInside: 'Vous le recevez parce qu’une personne connectée à votre compte en a fait la demande.',
    tried: 'Vous le recevez parce que quelqu’un a essayé de se connecter à votre compte.',
    signedIn: 'Vous le recevez parce que quelqu’un s’est connecté avec votre compte.',
    invited: 'Vous le recevez parce que quelqu’un a invité cette adresse e-mail.',
    requested: 'Vous le recevez parce que vous avez demandé un accès.',
    administers: 'Vous le recevez parce que vous décidez des accès.',
    tested: 'Vous le recevez parce qu’un administrateur a testé l’envoi des e-mails.',
  },
  actions: {
    verify_email: {
      subject: (app) => `Confirmez votre adresse e-mail pour ${app}`,
      intro: (app) => `Quelqu’un, sans doute vous, a indiqué cette adresse e-mail à ${app}. Confirmez qu’elle vous appartient.`,
      button: 'Confirmer l’adresse e-mail',
      after: [day],
    },
    change_email: {
      subject: (app) => `Confirmez votre nouvelle adresse e-mail pour ${app}`,
      intro: (app) =>
        `Quelqu’un, sans doute vous, veut utiliser cette adresse e-mail pour un compte ${app}. Confirmez qu’elle vous appartient.`,
      button: 'Utiliser cette adresse e-mail',
      after: [day, 'Si ce n’est pas vous, n’ouvrez pas le lien\u00a0: ce compte n’est pas le vôtre.'],
    },
    allow_email_change: {
      subject: (app) => `Autorisez le changement d’adresse e-mail pour ${app}`,
      intro: (app, newEmail) =>
        `Quelqu’un qui est connecté à votre compte ${app}, sans doute vous, veut remplacer son adresse e-mail par ${newEmail}.`,
      button: 'Autoriser le changement',
      after: [day, `Si ce n’est pas vous, n’ouvrez pas le lien et ${newPassword}. Toutes les sessions prendront fin.`],
    },
    undo_email_change: {
      subject: (app) => `Votre adresse e-mail pour ${app} a été modifiée`,
      intro: (app) => `L’adresse e-mail de votre compte ${app} a été remplacée par une autre.`,
      button: 'Annuler le changement',
      after: [
        'Si c’est vous, vous n’avez rien à faire.',
        'Si ce n’est pas vous, annulez le changement. Cette adresse redeviendra celle du compte, toutes ses sessions prendront fin, et le mot de passe, le second facteur et les fournisseurs ajoutés depuis le changement seront supprimés.',
        'Le lien fonctionne une seule fois, pendant 72\u00a0heures. Choisissez ensuite un nouveau mot de passe avec l’e-mail que vous recevrez.',
      ],
    },
    delete_account: {
      subject: (app) => `Supprimez votre compte ${app}`,
      intro: (app) => `Quelqu’un qui est connecté à votre compte ${app}, sans doute vous, veut le supprimer.`,
      button: 'Supprimer le compte',
      after: [hour, `Si ce n’est pas vous, n’ouvrez pas le lien et ${newPassword}. Toutes les sessions prendront fin.`],
    },
    reset_password: {
      subject: (app) => `Choisissez un nouveau mot de passe pour ${app}`,
      intro: (app) => `Quelqu’un, sans doute vous, a demandé un nouveau mot de passe pour ${app}.`,
      button: 'Choisir un nouveau mot de passe',
      after: [`${hour} Votre mot de passe actuel reste valable tant que vous n’en avez pas choisi un nouveau.`, passive],
    },
    magic_link: {
      subject: (app) => `Connectez-vous à ${app}`,
      intro: (app) => `Quelqu’un, sans doute vous, veut se connecter à ${app} avec cette adresse e-mail.`,
      button: 'Se connecter',
      after: [
        'Le lien fonctionne une seule fois, pendant 15\u00a0minutes. Toute personne qui l’a peut se connecter à votre place. Ne le communiquez à personne.',
        passive,
      ],
      afterWithCode: [
        'Le lien fonctionne une seule fois, pendant 15\u00a0minutes, et le code pendant 10\u00a0minutes. Toute personne qui a l’un des deux peut se connecter à votre place. Ne les communiquez à personne.',
        passive,
      ],
    },
    new_sign_in: {
      subject: (app) => `Nouvelle connexion à ${app}`,
      intro: (app) => `Quelqu’un s’est connecté à ${app} avec votre compte, depuis un navigateur qui n’avait pas encore servi.`,
      button: 'Ce n’est pas moi',
      after: [
        'Si c’est vous, vous n’avez rien à faire.',
        'Si ce n’est pas vous, ouvrez le lien. Une page vous demande s’il faut mettre fin à toutes les sessions de votre compte et vous envoyer un lien pour un nouveau mot de passe. Le lien fonctionne une seule fois, pendant 72\u00a0heures.',
      ],
    },
  },
  disown: {
    text: 'Si ce n’est pas vous, ouvrez plutôt ce lien. Il supprime le compte, sauf si quelqu’un l’a déjà confirmé avec son mot de passe.',
    label: 'Ce n’est pas moi',
  },
  invitation: {
    subject: (app) => `Vous avez reçu une invitation à rejoindre une organisation sur ${app}`,
    intro: (organization, app) => `Vous avez reçu une invitation à rejoindre l’organisation ${organization} sur ${app}.`,
    button: 'Accepter l’invitation',
    until: (time) => `Le lien fonctionne une seule fois, jusqu’au ${time}.`,
    after: 'Si vous ne savez pas qui vous invite, ignorez cet e-mail.',
  },
  accessRequested: {
    subject: (app) => `Une personne demande l’accès à ${app}`,
    intro: (app, user) => `L’accès à ${app} est demandé par ${user}.`,
    decide: 'Pour accepter ou refuser la demande\u00a0:',
  },
  accessApproved: {
    subject: (app) => `Vous avez maintenant accès à ${app}`,
    text: (app) => `Vous avez maintenant accès à ${app}. Connectez-vous comme d’habitude.`,
  },
  accessDenied: {
    subject: (app) => `Votre demande d’accès à ${app} a été refusée`,
    text: (app) => `Votre demande d’accès à ${app} a été refusée.`,
    reason: (reason) => `Motif donné par l’administrateur\u00a0: ${reason}`,
  },
  test: {
    subject: (app) => `E-mail de test pour ${app}`,
    text: 'Les e-mails vous parviennent, et voici à quoi ils ressemblent. Vous n’avez rien à faire.',
  },
  advice: `Si ce n’est pas vous, ${newPassword}.`,
  notices: {
    password_changed: {
      subject: (app) => `Votre mot de passe ${app} a été modifié`,
      text: () => 'Le mot de passe de votre compte a été modifié.',
    },
    password_reset: {
      subject: (app) => `Votre mot de passe ${app} a été réinitialisé`,
      text: () =>
        'Le mot de passe de votre compte a été réinitialisé avec un e-mail envoyé à cette adresse. Toutes les sessions du compte ont pris fin.',
    },
    two_factor_activated: {
      subject: (app) => `Authentification à deux facteurs activée pour ${app}`,
      text: () => 'L’authentification à deux facteurs a été activée pour votre compte.',
    },
    two_factor_disabled: {
      subject: (app) => `Authentification à deux facteurs désactivée pour ${app}`,
      text: () => 'L’authentification à deux facteurs a été désactivée pour votre compte.',
    },
    two_factor_removed: {
      subject: (app) => `Authentification à deux facteurs désactivée pour ${app}`,
      text: () => 'Un administrateur a désactivé l’authentification à deux facteurs de votre compte.',
    },
    two_factor_locked: {
      subject: (app) => `Codes à deux facteurs incorrects pour votre compte ${app}`,
      text: () =>
        'Quelqu’un a franchi votre premier facteur, par exemple votre mot de passe, puis a saisi trop de codes à deux facteurs incorrects. Les codes de votre compte sont refusés pendant un moment, et plus longtemps à chaque nouvelle fois.',
      advice: `Si ce n’est pas vous, ${newPassword}. Si les codes restent refusés, demandez le déverrouillage de votre compte.`,
    },
    recovery_codes_renewed: {
      subject: (app) => `Nouveaux codes de récupération pour ${app}`,
      text: () => 'Votre compte a reçu de nouveaux codes de récupération. Les anciens ne fonctionnent plus.',
    },
    credentials_removed: {
      subject: (app) => `Votre adresse e-mail pour ${app} a été confirmée`,
      text: () =>
        'Votre adresse e-mail a été confirmée par la première connexion avec elle. Le compte avait été créé avant que quiconque ait prouvé que cette adresse était la sienne. Son mot de passe, son second facteur, ses fournisseurs associés, ses noms, son appartenance à des organisations et ses sessions ont donc été supprimés.',
      advice: `Pour vous connecter de nouveau avec un mot de passe, choisissez-en un nouveau avec ${forgot}.`,
    },
    email_change_requested: {
      subject: (app) => `Changement d’adresse e-mail demandé pour ${app}`,
      text: () =>
        'Quelqu’un qui connaît le mot de passe de votre compte a demandé à en changer l’adresse e-mail. Rien ne change tant que la nouvelle adresse n’est pas confirmée. Vous recevrez alors ici un autre e-mail, avec un lien qui annule le changement.',
      advice: `Si ce n’est pas vous, ${newPassword}. Le changement sera alors abandonné.`,
    },
    identity_linked: {
      subject: (app) => `Un moyen de connexion à ${app} a été ajouté`,
      text: (provider) =>
        `Le fournisseur ${provider} a été ajouté aux moyens de connexion de votre compte. Toute personne qui s’y connecte avec le compte utilisé à cet effet accède à votre compte.`,
      advice: `Si ce n’est pas vous, ${newPassword}\u00a0: toutes les sessions prendront fin. Supprimez ensuite ce moyen de connexion de votre compte.`,
    },
    identity_unlinked: {
      subject: (app) => `Un moyen de connexion à ${app} a été supprimé`,
      text: (provider) => `Le fournisseur ${provider} a été supprimé des moyens de connexion de votre compte.`,
    },
    identity_removed: {
      subject: (app) => `Un moyen de connexion à ${app} a été supprimé`,
      text: (provider) => `Un administrateur a supprimé le fournisseur ${provider} des moyens de connexion de votre compte.`,
    },
    passkey_added: {
      subject: (app) => `Une clé d’accès a été ajoutée à votre compte ${app}`,
      text: () =>
        'Une clé d’accès a été ajoutée aux moyens de connexion de votre compte. Toute personne qui peut déverrouiller l’appareil où elle se trouve accède à votre compte.',
      advice: `Si ce n’est pas vous, ${newPassword}\u00a0: toutes les sessions prendront fin. Supprimez ensuite la clé d’accès sur la page de votre compte.`,
    },
    passkey_removed: {
      subject: (app) => `Une clé d’accès a été supprimée de votre compte ${app}`,
      text: () =>
        'Une clé d’accès a été supprimée des moyens de connexion de votre compte. Elle ne permet plus de vous connecter.',
    },
    account_deleted: {
      subject: (app) => `Votre compte ${app} a été supprimé`,
      text: () => 'Votre compte a été supprimé, comme demandé depuis l’une de ses sessions. Toutes ses sessions ont pris fin.',
      advice: 'Si ce n’est pas vous, demandez de l’aide dès maintenant.',
    },
  },
}
