import { html } from '../../lib/html.ts'
import { fr as account } from './account/fr.ts'
import { deviceTexts } from './device-texts.ts'
import { minutesIn } from './minutes.ts'
import type { PageTexts } from './page-texts.ts'

const { lasting, ahead } = minutesIn('fr-FR')
const nothingMore = 'Vous n’avez plus rien à faire ici.'
const cannotWork = 'Cette connexion est impossible'
const memorable = 'Plusieurs mots sans rapport entre eux sont faciles à retenir.'

/** Readers are addressed as vous. No-break spaces stand before colons, question marks and inside quotation marks. */
export const fr: PageTexts = {
  language: 'fr',
  locale: 'fr-FR',
  footer: { help: 'Aide', terms: 'Conditions d’utilisation', privacy: 'Confidentialité' },
  optional: '(facultatif)',
  fields: {
    email: 'Adresse e-mail',
    password: 'Mot de passe',
    newPassword: 'Nouveau mot de passe',
    newPasswordAgain: 'Nouveau mot de passe, encore une fois',
    account: 'Compte',
    firstName: 'Prénom',
    lastName: 'Nom',
    twoFactorCode: 'Code du second facteur',
    mailCode: 'Code reçu par e-mail',
  },
  hints: {
    twoFactorCode: 'Celui de votre application d’authentification, ou l’un de vos codes de récupération.',
    mailCode: 'Six chiffres.',
    newPassword: (least) => `Au moins ${least}\u00a0caractères. ${memorable}`,
    passwordOf: (app) => `Le mot de passe de votre compte ${app}.`,
    passwordOrNew: (app, least) =>
      `Votre mot de passe pour ${app}. Si vous n’avez pas encore de compte, choisissez-en un d’au moins ${least}\u00a0caractères.`,
  },
  faults: {
    required: (label) => `${label}\u00a0: ce champ est obligatoire`,
    no_email: () => 'Saisissez une adresse e-mail valide',
    too_short: (_, least) => `Le mot de passe doit compter au moins ${least}\u00a0caractères`,
    too_long: (label, most) => `${label}\u00a0: ${most}\u00a0caractères au plus`,
    too_many_bytes: () => 'Le mot de passe est trop long',
    too_common: () => 'Ce mot de passe est l’un des plus courants. Choisissez-en un autre',
    is_email: () => 'Le mot de passe ne peut pas être l’adresse e-mail',
    no_match: () => 'Les deux mots de passe ne sont pas identiques',
    wrong: () => 'Le code est incorrect',
    wrong_or_used: () => 'Le code est incorrect ou a déjà été utilisé',
    wrong_for_account: () =>
      'Le mot de passe est incorrect\u00a0: cette adresse a déjà un compte. Si vous ne connaissez pas son mot de passe, choisissez-en un nouveau avec «\u00a0Mot de passe oublié\u00a0?\u00a0» sur la page de connexion',
    invalid: (label) => `${label}\u00a0: cette saisie n’est pas valide`,
  },
  refusals: {
    twoFactorRequired: 'Ce compte a un second facteur. Saisissez de nouveau votre mot de passe, avec le code.',
    enrol: (app) =>
      `${app} demande un second facteur, et ce compte n’en a pas. Connectez-vous à ${app} pour en configurer un. Ouvrez ensuite ce lien de nouveau.`,
    passkeyOnly: (app) =>
      `${app} demande la clé d’accès de ce compte, ce que cette page ne peut pas faire. Connectez-vous à ${app} avec elle, et saisissez-y l’invitation.`,
    anotherTwoFactorCode: 'Saisissez de nouveau votre mot de passe, avec un autre code.',
    locked: (minutes) => `Ce compte est bloqué après trop d’échecs. Réessayez ${ahead(minutes)}.`,
    limited: (minutes) => `Trop de tentatives. Réessayez ${ahead(minutes)}.`,
    suspended: (app) => `Ce compte est suspendu. Demandez aux responsables de ${app} ce que vous pouvez faire.`,
    noAccess: (app) => `Ce compte n’a pas accès à ${app}. Demandez cet accès à la personne qui vous a invité.`,
    domain: (app) => `${app} n’accepte pas les adresses de ce domaine.`,
    wrongCredentials: 'L’adresse e-mail ou le mot de passe est incorrect.',
    passkey: 'Cette clé d’accès ne fonctionne pas ici. Connectez-vous d’une autre manière.',
    userExists: 'Cette adresse e-mail a déjà un compte. Connectez-vous, ou choisissez un nouveau mot de passe.',
    invitation: 'L’invitation n’est plus valable, ou elle est destinée à une autre adresse e-mail.',
    linkRequired: 'Cette adresse e-mail a déjà un compte. Connectez-vous avec son mot de passe.',
    wayClosed: 'Ce mode de connexion n’est pas disponible ici. Choisissez-en un autre.',
    noEmailOfProvider: 'Le fournisseur n’a pas communiqué votre adresse e-mail. Connectez-vous d’une autre manière.',
    signUpClosed: (app) => `${app} n’accepte pas de nouveaux comptes.`,
    tooLong: 'Cela a pris trop de temps. Connectez-vous de nouveau.',
    unverified: 'Confirmez d’abord votre adresse e-mail avec le lien que vous avez reçu.',
    other: 'Ce n’est pas possible ici.',
  },
  providers: {
    continueWith: (provider) => `Continuer avec ${provider}`,
    or: 'ou',
    denied: 'Le fournisseur ne vous a pas connecté.',
    unreachable: 'Le fournisseur est injoignable pour le moment. Connectez-vous d’une autre manière, ou réessayez plus tard.',
    tooOld: 'Le fournisseur ne vous a pas demandé de vous reconnecter. Connectez-vous d’une autre manière.',
    broken: 'La réponse du fournisseur est inutilisable. Connectez-vous d’une autre manière.',
  },
  signIn: {
    title: 'Se connecter',
    button: 'Se connecter',
    keep: 'Rester connecté',
    trust: (days) =>
      days === 1
        ? 'Ne plus demander dans ce navigateur pendant un jour'
        : `Ne plus demander dans ce navigateur pendant ${days}\u00a0jours`,
    mailCode: 'Recevoir un code par e-mail',
    forgot: 'Mot de passe oublié\u00a0?',
    create: 'Créer un compte',
    passkey: 'Utiliser une clé d’accès',
    anotherWay: 'Se connecter d’une autre manière',
    anotherAccount: 'Utiliser un autre compte',
    back: 'Retour',
    continue: 'Continuer',
    invitedTo: (organization) => html`Vous avez reçu une invitation à rejoindre ${organization}.`,
    signedInAs: (email) => html`Vous êtes connecté en tant que ${email}.`,
    signingInAs: (email) => html`Connexion en tant que ${email}.`,
    leadsTo: (host) => html`Vous allez continuer vers ${host}.`,
  },
  secondFactor: {
    title: 'Saisissez votre code',
    passkey: 'Utilisez votre clé d’accès',
    why: (app) => html`${app} demande un second facteur.`,
    missing: { title: 'Il vous faut un second facteur', text: 'Votre compte n’en a pas encore.' },
  },
  create: { title: 'Créer votre compte', button: 'Créer le compte', instead: 'J’ai déjà un compte' },
  named: {
    noAccount: (email, app) => html`Aucun compte ${app} n’existe encore pour ${email}.`,
    signedInAs: (email) => html`Vous êtes connecté en tant que ${email}. Cette connexion prendra fin dans ce navigateur.`,
    continueAs: (email) => `Continuer en tant que ${email}`,
  },
  join: {
    title: (organization) => `Rejoindre ${organization}`,
    text: (organization, app, host) =>
      html`Vous avez reçu une invitation à devenir membre de ${organization}. Vous continuerez ensuite vers ${app}, sur ${host}.`,
    button: 'Rejoindre',
  },
  organization: { title: 'Choisissez une organisation', legend: 'Se connecter pour', none: 'Aucune organisation' },
  continueTo: (app) => `Continuer vers ${app}`,
  askMail: {
    reset: {
      title: 'Mot de passe oublié\u00a0?',
      text: 'Nous vous envoyons par e-mail un code qui permet de choisir un nouveau mot de passe.',
    },
    signIn: {
      title: 'Se connecter par e-mail',
      text: 'Nous vous envoyons par e-mail un code qui permet de vous connecter.',
    },
    button: 'Envoyer le code',
  },
  mail: {
    title: 'Consultez votre messagerie',
    onItsWay: (email) => html`Un e-mail avec un code est en route vers ${email}.`,
    ifThereIs: (email) => html`Si un compte existe pour ${email}, un e-mail avec un code est en route.`,
    opened: (email) => html`Vous avez ouvert le lien envoyé à ${email}.`,
    again: 'Renvoyer l’e-mail',
    setPassword: 'Enregistrer le nouveau mot de passe',
    confirm: 'Confirmer',
    confirmTitle: 'Confirmez votre adresse e-mail',
    newPasswordTitle: 'Choisissez un nouveau mot de passe',
  },
  verify: {
    title: 'Confirmez votre adresse e-mail',
    button: 'Recevoir un code',
    why: (app) => html`${app} demande une adresse e-mail confirmée.`,
    toAsk: 'Vous pourrez le demander une fois votre adresse confirmée.',
  },
  refused: {
    unknownHere: {
      title: 'Ce compte n’est pas connu ici',
      text: (app) => html`${app} ne connaît pas ce compte. Si vous en avez un autre, utilisez-le.`,
    },
    noAccess: {
      title: 'Vous n’avez pas encore accès',
      text: (app) => html`Vous n’avez pas encore accès à ${app}. Un administrateur peut vous le donner.`,
      ask: 'Demander l’accès',
      asked: 'Vous avez demandé l’accès. Vous recevrez un e-mail quand un administrateur aura décidé.',
    },
    noMember: {
      title: 'Vous n’êtes pas membre de cette organisation',
      text: 'Demandez à un administrateur de l’organisation de vous inviter.',
    },
    suspended: {
      title: 'Votre compte est suspendu',
      text: (app) => html`Demandez aux responsables de ${app} ce que vous pouvez faire.`,
    },
    appInactive: {
      title: 'Cette application est désactivée',
      text: (app) => html`Personne ne peut accéder à ${app} pour le moment. Réessayez plus tard.`,
    },
    other: {
      title: 'Vous ne pouvez pas accéder à cette application',
      text: (app) => html`Vous ne pouvez pas accéder à ${app}.`,
    },
  },
  device: deviceTexts.fr,
  signOut: {
    title: 'Se déconnecter',
    text: 'Voulez-vous vous déconnecter de ce navigateur et des applications que vous avez ouvertes depuis celui-ci\u00a0?',
    button: 'Se déconnecter',
    done: {
      title: 'Vous êtes déconnecté',
      text: 'Vous êtes déconnecté de ce navigateur et des applications que vous avez ouvertes depuis celui-ci.',
    },
  },
  goTo: (app) => html`Aller à ${app}`,
  requestFaults: {
    unknownApp: {
      title: 'Cette application n’est pas connue ici',
      text: html`Aucune application n’a le <code>client_id</code> de ce lien.`,
    },
    inactiveApp: {
      title: 'Cette application est désactivée',
      text: 'Personne ne peut s’y connecter pour le moment. Réessayez plus tard.',
    },
    title: cannotWork,
    redirectMissing: html`Il manque <code>redirect_uri</code> dans le lien.`,
    redirectUnknown: html`La valeur de <code>redirect_uri</code> dans ce lien ne fait pas partie des adresses de retour de l’application.`,
    redirectPrefixesOnly: html`Toutes les adresses de retour de l’application se terminent par <code>*</code>. Un administrateur doit ajouter l’adresse exacte.`,
    goBack: 'Retournez dans l’application. Si cela se reproduit, prévenez ceux qui la développent.',
  },
  codeElsewhere: {
    title: 'Saisissez le code là où vous l’avez demandé',
    text: 'L’e-mail contient un code à six chiffres. Saisissez-le sur la page où vous avez demandé l’e-mail. Ce navigateur n’est pas connecté.',
  },
  elsewhere: {
    title: 'Retournez là où vous avez commencé',
    text: 'Cette connexion a commencé dans un autre navigateur. Continuez dans celui-ci, ou recommencez depuis l’application.',
  },
  tooOld: {
    title: 'Cette page est trop ancienne',
    text: 'La page est restée ouverte trop longtemps, ou votre navigateur ne conserve pas les cookies.',
    startAgain: 'Recommencer',
    goBack: 'Retournez dans l’application, et connectez-vous de nouveau.',
  },
  foreignForm: {
    title: 'Ce formulaire n’est pas le nôtre',
    text: 'Un autre site a envoyé ce formulaire, il n’a donc pas été lu. Retournez dans l’application, et connectez-vous depuis celle-ci.',
  },
  deadLink: {
    title: 'Ce lien ne fonctionne pas',
    text: 'Il a peut-être déjà été utilisé, est trop ancien, ou a été remplacé par un lien plus récent.',
    advice: {
      '/verify-email':
        'Si vous avez déjà confirmé votre adresse, tout est en ordre. Sinon, demandez un nouvel e-mail là où vous avez créé votre compte, et ouvrez son lien.',
      '/disown-email': 'Si vous avez déjà répondu à cet e-mail, ou en avez demandé un plus récent, vous n’avez rien à faire ici.',
      '/confirm-email':
        'Si vous avez déjà confirmé l’adresse, tout est en ordre. Sinon, demandez de nouveau le changement là où vous êtes connecté.',
      '/undo-email-change':
        'Si vous avez déjà annulé le changement, tout est en ordre. Sinon, contactez les responsables de ce service.',
      '/delete-account': 'Si vous avez déjà supprimé le compte, tout est en ordre. Sinon, recommencez là où vous êtes connecté.',
      '/secure-account':
        'Si vous avez déjà mis fin à vos sessions, tout est en ordre. Sinon, choisissez un nouveau mot de passe avec «\u00a0Mot de passe oublié\u00a0?\u00a0» là où vous vous connectez.',
      '/reset-password':
        'Si vous avez toujours besoin d’un nouveau mot de passe, demandez un nouvel e-mail avec «\u00a0Mot de passe oublié\u00a0?\u00a0», et ouvrez son lien.',
      '/magic-link':
        'Pour vous connecter, demandez un nouvel e-mail là où vous voulez vous connecter, et ouvrez son lien dans les 15\u00a0minutes.',
      '/accept-invitation':
        'Si vous avez déjà accepté l’invitation, tout est en ordre. Sinon, demandez-en une autre à la personne qui vous a invité.',
      '/oauth/mail': 'Demandez un nouvel e-mail là où vous vouliez vous connecter.',
    },
  },
  unreadableForm: { title: 'Ce formulaire est illisible', text: 'Ouvrez de nouveau le lien de l’e-mail.' },
  errors: {
    tooMany: 'Trop de demandes',
    unavailable: 'Le service n’est pas disponible pour le moment',
    internal: 'Une erreur s’est produite chez nous',
    locked: 'Le compte est bloqué après trop d’échecs',
    wait: 'Patientez un peu, revenez en arrière, et réessayez.',
    goBack: 'Revenez en arrière, et réessayez.',
    startAgain: 'Recommencez la connexion depuis le début.',
    other: 'Cela n’a pas fonctionné',
    help: (requestId) =>
      `Si cela se reproduit, indiquez aux responsables de ce service le numéro de cette demande\u00a0: ${requestId}`,
  },
  apiErrors: {
    invalid_sso_state: 'Cette connexion par un fournisseur est inconnue, a expiré, ou a déjà abouti',
    auth_method_not_allowed: 'Cette application n’autorise pas ce mode de connexion',
    sso_provider_disabled: 'Le fournisseur est désactivé',
    app_inactive: 'L’application est désactivée',
  },
  welcome: {
    title: 'C’est ici que vous vous connectez à vos applications',
    what: 'Ce service gère votre compte et vous connecte aux applications de votre organisation. Vous n’avez rien à faire sur cette page.',
    how: 'Pour vous connecter, ouvrez l’application que vous voulez utiliser. Elle vous amène ici, puis vous y revenez connecté. Si un e-mail de ce service vous a conduit ici, ouvrez le lien qu’il contient.',
    developers: (reference) => html`Pour les développeurs\u00a0: ${reference}`,
    reference: 'la référence de l’API',
  },
  links: {
    confirm: {
      title: 'Confirmez votre adresse e-mail',
      text: (email) => html`Cette adresse est-elle la vôtre\u00a0: ${email}\u00a0?`,
      button: 'Oui, la confirmer',
    },
    notMine: {
      text: 'Si vous n’avez pas choisi de mot de passe, quelqu’un d’autre a indiqué votre adresse. Choisissez votre propre mot de passe\u00a0: cela met fin à ce que cette personne a mis en place. Si la connexion demande ensuite un code que vous n’avez pas mis en place, utilisez plutôt un lien de connexion par e-mail.',
      button: 'Je ne connais pas ce mot de passe',
    },
    allowChange: {
      title: 'Changer votre adresse e-mail\u00a0?',
      text: (email, newEmail) =>
        html`Quelqu’un qui est connecté à votre compte veut remplacer son adresse ${email} par ${newEmail}. Si ce n’est pas vous, fermez cette page, et choisissez un mot de passe avec «\u00a0Mot de passe oublié\u00a0?\u00a0» sur la page de connexion.`,
      button: 'Autoriser le changement',
    },
    confirmNew: (email) =>
      html`L’adresse ${email} est-elle la nouvelle adresse de votre compte\u00a0? Si vous ne l’avez pas demandé, fermez cette page.`,
    newAddressCode: {
      text: (email, app) =>
        html`Pour que ${email} devienne l’adresse de votre compte, copiez ce code dans ${app}, où vous êtes connecté.`,
      label: 'Code de confirmation',
      after: 'Si vous ne l’avez pas demandé, fermez cette page.',
    },
    changeAllowed: {
      title: 'Consultez la nouvelle messagerie',
      text: (newEmail) => html`Nous envoyons un lien à ${newEmail}. Votre adresse changera quand vous l’aurez confirmée là-bas.`,
    },
    delete: {
      title: 'Supprimer votre compte\u00a0?',
      text: (email) =>
        html`Le compte ${email} sera supprimé, dans toutes les applications auxquelles il donne accès. Cette action est irréversible.`,
      button: 'Supprimer le compte',
    },
    deleted: 'Votre compte est supprimé',
    nothingMore,
    resetMailed: {
      title: 'Consultez votre messagerie',
      text: (email) =>
        html`Nous envoyons un lien à ${email}. Ouvrez-le pour choisir un nouveau mot de passe. Si aucun e-mail n’arrive, vous en avez déjà reçu plusieurs ces dernières minutes\u00a0: réessayez plus tard.`,
    },
    disown: {
      title: 'Ce n’était pas vous\u00a0?',
      text: (email, app) =>
        html`Quelqu’un a indiqué ${email} à ${app}. Si ce n’est pas vous, supprimez le compte créé avec cette adresse.`,
      button: 'Ce n’est pas moi\u00a0: supprimer le compte',
    },
    disowned: {
      title: 'Merci',
      text: `Le compte est supprimé, sauf si quelqu’un l’a déjà confirmé avec son mot de passe. ${nothingMore}`,
    },
    secure: {
      title: 'Ce n’était pas vous\u00a0?',
      text: (email) =>
        html`Toutes les sessions du compte de ${email} prendront fin, dans toutes les applications et tous les navigateurs, et le mot de passe ne sera plus valable. Nous vous enverrons un lien pour en choisir un nouveau.`,
      button: 'Mettre fin à toutes les sessions',
    },
    secured: {
      title: 'Toutes les sessions ont pris fin',
      text: (email) => html`Nous avons envoyé un lien à ${email} pour choisir un nouveau mot de passe.`,
    },
    undo: {
      title: 'Reprendre votre adresse e-mail\u00a0?',
      text: (email) =>
        html`L’adresse de votre compte, ${email}, a été remplacée par une autre. Si ce n’est pas vous, reprenez-la. Toutes les sessions du compte prendront fin, et le mot de passe, le second facteur et les fournisseurs ajoutés depuis le changement seront supprimés.`,
      button: 'Reprendre l’adresse',
    },
    undone: {
      title: 'Votre adresse e-mail est rétablie',
      text: (email, app) =>
        html`L’adresse de votre compte est de nouveau ${email}. Choisissez maintenant un nouveau mot de passe\u00a0: nous vous envoyons un lien pour cela. Si aucun e-mail n’arrive, utilisez «\u00a0Mot de passe oublié\u00a0?\u00a0» sur la page de connexion de ${app}.`,
    },
    confirmed: 'Votre adresse e-mail est confirmée',
    passwordSet: {
      title: 'Votre nouveau mot de passe est enregistré',
      text: (app) => html`Vous pouvez maintenant vous connecter à ${app} avec lui. Vous avez été déconnecté partout.`,
    },
    signInTo: (app) => `Se connecter à ${app}`,
    signInText: 'Si vous ne l’avez pas demandé, fermez cette page. Il ne se passera rien.',
    code: {
      title: 'Votre code de connexion',
      text: (app, minutes) => html`Copiez ce code dans ${app}. Il fonctionne une seule fois, pendant encore ${lasting(minutes)}.`,
      label: 'Code de connexion',
      after:
        'Toute personne qui l’a peut se connecter à votre place. Ne le communiquez à personne, et ne le saisissez nulle part ailleurs.',
    },
    continueTo: (app) => html`Continuer vers ${app}`,
  },
  invitation: {
    title: (organization) => `Vous avez reçu une invitation à rejoindre ${organization}`,
    text: (app) => html`Acceptez avec votre compte ${app}. Si vous n’en avez pas, un compte sera créé pour vous.`,
    button: 'Accepter l’invitation',
    accepted: (organization) => `Vous êtes membre de ${organization}`,
    accountReady: 'Votre compte est prêt.',
    access: {
      granted: (app) => html`Vous pouvez maintenant vous connecter à ${app}.`,
      pending: (app) => html`Vous n’avez pas encore accès à ${app}. Adressez-vous à la personne qui vous a invité.`,
      unverified: (app) => html`Ouvrez le lien que vous avez reçu par e-mail. Vous pourrez ensuite vous connecter à ${app}.`,
      unenrolled: (app) => html`${app} demande un second facteur. Connectez-vous-y pour en configurer un.`,
    },
    code: {
      text: (organization) =>
        html`Connectez-vous ou créez un compte là où ${organization} vous l’a demandé, et saisissez-y ce code d’invitation.`,
      label: 'Code d’invitation',
      after: 'Si vous ne savez pas où, demandez à la personne qui vous a invité.',
    },
  },
  account,
  enrolment: {
    title: 'Configurer votre application d’authentification',
    scan: 'Scannez cette image avec une application d’authentification sur votre téléphone.',
    picture: 'QR code qui contient le secret ci-dessous',
    secret: 'Ou saisissez ce secret dans l’application',
    code: 'Code affiché par l’application',
    button: 'Activer',
  },
  recoveryCodes: {
    title: 'Vos codes de récupération',
    text: 'Chacun de ces codes fonctionne une fois, à la place d’un code de l’application. Conservez-les là où vous pourrez les retrouver sans votre téléphone\u00a0: ils ne sont affichés que maintenant.',
    label: 'Codes de récupération',
    button: 'Je les ai conservés',
  },
  passkeys: {
    title: 'Vos clés d’accès',
    none: 'Vous n’avez pas encore de clé d’accès. Avec elle, vous vous connectez comme vous déverrouillez votre appareil\u00a0: avec votre empreinte, votre visage ou un code PIN.',
    added: (day) => `Ajoutée le ${day}.`,
    lastUsed: (day) => `Utilisée pour la dernière fois le ${day}.`,
    notUsed: 'Pas encore utilisée.',
    synchronized: 'Elle est synchronisée entre vos appareils.',
    elsewhere: (host) => html`Elle appartient à ${host} et ne fonctionne pas ici.`,
    noAddress: 'Les clés d’accès ne fonctionnent pas à l’adresse de ce service.',
    rename: 'Renommer',
    remove: (name) => `Supprimer ${name}`,
    name: 'Nom',
    add: 'Ajouter une clé d’accès',
    newName: 'Nom de la nouvelle clé d’accès',
    newNameValue: 'Mon appareil',
    newNameHint: 'Pour que vous la reconnaissiez.',
    needsScript: 'Les clés d’accès nécessitent JavaScript.',
    signInAgain: 'Se reconnecter pour modifier quelque chose',
    comeBack: 'Pour modifier quelque chose, reconnectez-vous à une application, et revenez dans les dix minutes.',
    noneUsed: 'Aucune clé d’accès n’a été utilisée. Réessayez, ou connectez-vous d’une autre manière.',
    noneMade: 'Aucune clé d’accès n’a été créée. Cet appareil en a peut-être déjà une pour vous.',
    noApp: {
      title: 'Ouvrez cette page depuis l’une de vos applications',
      text: 'Vous n’êtes pas connecté ici, et l’adresse ne désigne aucune application.',
    },
    refusals: {
      last: 'C’est votre seul moyen de vous connecter. Choisissez d’abord un mot de passe, ou ajoutez une autre clé d’accès.',
      known: 'Cette clé d’accès est déjà utilisée ici.',
      limit: 'Vous avez atteint le nombre maximal de clés d’accès. Supprimez-en d’abord une.',
      tooLong: 'Cela a pris trop de temps. Réessayez.',
      gone: 'Cette clé d’accès a déjà été supprimée.',
      other: 'Cette clé d’accès ne peut pas être utilisée ici. Essayez avec un autre appareil.',
    },
  },
}
