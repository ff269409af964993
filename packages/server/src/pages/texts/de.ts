import { html } from '../../lib/html.ts'
import { de as account } from './account/de.ts'
import { deviceTexts } from './device-texts.ts'
import { minutesIn } from './minutes.ts'
import type { PageTexts } from './page-texts.ts'

const { lasting, ahead } = minutesIn('de-DE')
const nothingMore = 'Sie müssen hier nichts weiter tun.'
const cannotWork = 'Diese Anmeldung ist nicht möglich'
const memorable = 'Mehrere Wörter ohne Zusammenhang lassen sich gut merken.'

/** Readers are addressed as Sie. */
export const de: PageTexts = {
  language: 'de',
  locale: 'de-DE',
  footer: { help: 'Hilfe', terms: 'Nutzungsbedingungen', privacy: 'Datenschutz' },
  optional: '(freiwillig)',
  fields: {
    email: 'E-Mail-Adresse',
    password: 'Passwort',
    newPassword: 'Neues Passwort',
    newPasswordAgain: 'Neues Passwort wiederholen',
    account: 'Konto',
    firstName: 'Vorname',
    lastName: 'Nachname',
    twoFactorCode: 'Code des zweiten Faktors',
    mailCode: 'Code aus der E-Mail',
  },
  hints: {
    twoFactorCode: 'Aus Ihrer Authenticator-App, oder einer Ihrer Wiederherstellungscodes.',
    mailCode: 'Sechs Ziffern.',
    newPassword: (least) => `Mindestens ${least} Zeichen. ${memorable}`,
    passwordOf: (app) => `Das Passwort Ihres Kontos bei ${app}.`,
    passwordOrNew: (app, least) =>
      `Ihr Passwort für ${app}. Wenn Sie noch kein Konto haben, wählen Sie eines mit mindestens ${least} Zeichen.`,
  },
  faults: {
    required: (label) => `${label}: Bitte füllen Sie dieses Feld aus`,
    no_email: () => 'Geben Sie eine gültige E-Mail-Adresse ein',
    too_short: (_, least) => `Das Passwort muss mindestens ${least} Zeichen haben`,
    too_long: (label, most) => `${label}: höchstens ${most} Zeichen sind möglich`,
    too_many_bytes: () => 'Das Passwort ist zu lang',
    too_common: () => 'Dieses Passwort gehört zu den häufigsten. Wählen Sie ein anderes',
    is_email: () => 'Das Passwort darf nicht die E-Mail-Adresse sein',
    no_match: () => 'Die beiden Passwörter stimmen nicht überein',
    wrong: () => 'Der Code ist falsch',
    wrong_or_used: () => 'Der Code ist falsch oder wurde schon verwendet',
    wrong_for_account: () =>
      'Das Passwort ist falsch: Zu dieser Adresse gibt es ein Konto. Wenn Sie sein Passwort nicht kennen, legen Sie bei der Anmeldung über „Passwort vergessen?“ ein neues fest',
    invalid: (label) => `${label}: Diese Eingabe ist ungültig`,
  },
  refusals: {
    twoFactorRequired: 'Dieses Konto hat einen zweiten Faktor. Geben Sie Ihr Passwort noch einmal ein, zusammen mit dem Code.',
    enrol: (app) =>
      `${app} verlangt einen zweiten Faktor, und dieses Konto hat keinen. Melden Sie sich bei ${app} an, um einen einzurichten. Öffnen Sie danach diesen Link noch einmal.`,
    passkeyOnly: (app) =>
      `${app} verlangt den Passkey dieses Kontos, den diese Seite nicht abfragen kann. Melden Sie sich damit bei ${app} an, und geben Sie die Einladung dort ein.`,
    anotherTwoFactorCode: 'Geben Sie Ihr Passwort noch einmal ein, zusammen mit einem anderen Code.',
    locked: (minutes) => `Dieses Konto ist nach zu vielen Fehlversuchen gesperrt. Versuchen Sie es ${ahead(minutes)} erneut.`,
    limited: (minutes) => `Zu viele Versuche. Versuchen Sie es ${ahead(minutes)} erneut.`,
    suspended: (app) => `Dieses Konto ist gesperrt. Fragen Sie die Betreiber von ${app}, was Sie tun können.`,
    noAccess: (app) => `Dieses Konto hat keinen Zugriff auf ${app}. Bitten Sie die Person, die Sie eingeladen hat, um Zugriff.`,
    domain: (app) => `${app} nimmt keine E-Mail-Adressen dieser Domain an.`,
    wrongCredentials: 'Die E-Mail-Adresse oder das Passwort ist falsch.',
    passkey: 'Dieser Passkey funktioniert hier nicht. Melden Sie sich auf andere Weise an.',
    userExists: 'Zu dieser E-Mail-Adresse gibt es schon ein Konto. Melden Sie sich an, oder legen Sie ein neues Passwort fest.',
    invitation: 'Die Einladung gilt nicht mehr oder ist für eine andere E-Mail-Adresse.',
    linkRequired: 'Zu dieser E-Mail-Adresse gibt es schon ein Konto. Melden Sie sich dort mit dem Passwort an.',
    wayClosed: 'Diese Art der Anmeldung ist hier nicht möglich. Wählen Sie eine andere.',
    noEmailOfProvider: 'Der Anbieter hat Ihre E-Mail-Adresse nicht mitgeteilt. Melden Sie sich auf andere Weise an.',
    signUpClosed: (app) => `${app} nimmt keine neuen Konten an.`,
    tooLong: 'Das hat zu lange gedauert. Melden Sie sich noch einmal an.',
    unverified: 'Bestätigen Sie zuerst Ihre E-Mail-Adresse mit dem Link, den Sie per E-Mail erhalten haben.',
    other: 'Das ist hier nicht möglich.',
  },
  providers: {
    continueWith: (provider) => `Weiter mit ${provider}`,
    or: 'oder',
    denied: 'Der Anbieter hat Sie nicht angemeldet.',
    unreachable:
      'Der Anbieter ist zurzeit nicht erreichbar. Melden Sie sich auf andere Weise an, oder versuchen Sie es später erneut.',
    tooOld: 'Der Anbieter hat keine neue Anmeldung verlangt. Melden Sie sich auf andere Weise an.',
    broken: 'Die Antwort des Anbieters ist nicht verwendbar. Melden Sie sich auf andere Weise an.',
  },
  signIn: {
    title: 'Anmelden',
    button: 'Anmelden',
    keep: 'Angemeldet bleiben',
    trust: (days) =>
      days === 1 ? 'In diesem Browser einen Tag lang nicht mehr fragen' : `In diesem Browser ${days} Tage lang nicht mehr fragen`,
    mailCode: 'Code per E-Mail senden',
    forgot: 'Passwort vergessen?',
    create: 'Konto erstellen',
    passkey: 'Mit Passkey anmelden',
    anotherWay: 'Auf andere Weise anmelden',
    anotherAccount: 'Anderes Konto verwenden',
    back: 'Zurück',
    continue: 'Weiter',
    invitedTo: (organization) => html`Sie sind zu ${organization} eingeladen.`,
    signedInAs: (email) => html`Sie sind als ${email} angemeldet.`,
    signingInAs: (email) => html`Anmeldung als ${email}.`,
    leadsTo: (host) => html`Es geht weiter zu ${host}.`,
  },
  secondFactor: {
    title: 'Code eingeben',
    passkey: 'Verwenden Sie Ihren Passkey',
    why: (app) => html`${app} verlangt einen zweiten Faktor.`,
    missing: { title: 'Sie brauchen einen zweiten Faktor', text: 'Ihr Konto hat noch keinen.' },
  },
  create: { title: 'Konto erstellen', button: 'Konto erstellen', instead: 'Stattdessen anmelden' },
  named: {
    noAccount: (email, app) => html`Für ${email} gibt es bei ${app} noch kein Konto.`,
    signedInAs: (email) => html`Sie sind als ${email} angemeldet. Diese Anmeldung endet in diesem Browser.`,
    continueAs: (email) => `Weiter als ${email}`,
  },
  join: {
    title: (organization) => `${organization} beitreten`,
    text: (organization, app, host) =>
      html`Sie sind eingeladen, Mitglied von ${organization} zu werden. Danach geht es weiter zu ${app} auf ${host}.`,
    button: 'Beitreten',
  },
  organization: { title: 'Organisation wählen', legend: 'Anmelden für', none: 'Keine Organisation' },
  continueTo: (app) => `Weiter zu ${app}`,
  askMail: {
    reset: {
      title: 'Passwort vergessen?',
      text: 'Wir senden Ihnen per E-Mail einen Code, mit dem Sie ein neues Passwort festlegen können.',
    },
    signIn: { title: 'Anmelden per E-Mail', text: 'Wir senden Ihnen per E-Mail einen Code, mit dem Sie sich anmelden.' },
    button: 'Code senden',
  },
  mail: {
    title: 'Sehen Sie in Ihr Postfach',
    onItsWay: (email) => html`Eine E-Mail mit einem Code ist unterwegs an ${email}.`,
    ifThereIs: (email) => html`Wenn es ein Konto für ${email} gibt, ist eine E-Mail mit einem Code unterwegs.`,
    opened: (email) => html`Sie haben den Link geöffnet, der an ${email} gesendet wurde.`,
    again: 'Noch einmal senden',
    setPassword: 'Neues Passwort festlegen',
    confirm: 'Bestätigen',
    confirmTitle: 'E-Mail-Adresse bestätigen',
    newPasswordTitle: 'Neues Passwort wählen',
  },
  verify: {
    title: 'E-Mail-Adresse bestätigen',
    button: 'Code senden',
    why: (app) => html`${app} verlangt eine bestätigte E-Mail-Adresse.`,
    toAsk: 'Sie können darum bitten, sobald Ihre E-Mail-Adresse bestätigt ist.',
  },
  refused: {
    unknownHere: {
      title: 'Dieses Konto ist hier nicht bekannt',
      text: (app) => html`${app} kennt dieses Konto nicht. Wenn Sie ein anderes haben, verwenden Sie es.`,
    },
    noAccess: {
      title: 'Sie haben noch keinen Zugriff',
      text: (app) => html`Sie haben noch keinen Zugriff auf ${app}. Ein Administrator kann ihn Ihnen geben.`,
      ask: 'Zugriff anfragen',
      asked: 'Sie haben Zugriff angefragt. Sie erhalten eine E-Mail, sobald ein Administrator entschieden hat.',
    },
    noMember: {
      title: 'Sie sind kein Mitglied dieser Organisation',
      text: 'Bitten Sie einen Administrator der Organisation, Sie einzuladen.',
    },
    suspended: {
      title: 'Ihr Konto ist gesperrt',
      text: (app) => html`Fragen Sie die Betreiber von ${app}, was Sie tun können.`,
    },
    appInactive: {
      title: 'Diese App ist abgeschaltet',
      text: (app) => html`Zurzeit kann sich niemand bei ${app} anmelden. Versuchen Sie es später erneut.`,
    },
    other: {
      title: 'Sie können sich bei dieser App nicht anmelden',
      text: (app) => html`Sie können sich bei ${app} nicht anmelden.`,
    },
  },
  device: deviceTexts.de,
  signOut: {
    title: 'Abmelden',
    text: 'Möchten Sie sich in diesem Browser abmelden, und bei den Apps, die Sie von hier aus geöffnet haben?',
    button: 'Abmelden',
    done: {
      title: 'Sie sind abgemeldet',
      text: 'Sie sind in diesem Browser abgemeldet, und bei den Apps, die Sie von hier aus geöffnet haben.',
    },
  },
  goTo: (app) => html`Zu ${app}`,
  requestFaults: {
    unknownApp: {
      title: 'Diese App ist hier nicht bekannt',
      text: html`Keine App hat die <code>client_id</code> dieses Links.`,
    },
    inactiveApp: {
      title: 'Diese App ist abgeschaltet',
      text: 'Zurzeit kann sich dort niemand anmelden. Versuchen Sie es später erneut.',
    },
    title: cannotWork,
    redirectMissing: html`Im Link fehlt die <code>redirect_uri</code>.`,
    redirectUnknown: html`Die <code>redirect_uri</code> dieses Links ist für die App nicht eingetragen.`,
    redirectPrefixesOnly: html`Alle Adressen, die für die App eingetragen sind, enden auf <code>*</code>. Ein Administrator muss die genaue Adresse ergänzen.`,
    goBack: 'Gehen Sie zurück zur App. Wenn das noch einmal geschieht, melden Sie es denen, die sie entwickeln.',
  },
  codeElsewhere: {
    title: 'Geben Sie den Code dort ein, wo Sie ihn angefordert haben',
    text: 'Die E-Mail enthält einen Code mit sechs Ziffern. Geben Sie ihn auf der Seite ein, auf der Sie die E-Mail angefordert haben. In diesem Browser werden Sie nicht angemeldet.',
  },
  elsewhere: {
    title: 'Gehen Sie zurück, wo Sie begonnen haben',
    text: 'Diese Anmeldung hat in einem anderen Browser begonnen. Setzen Sie sie dort fort, oder beginnen Sie in der App von vorn.',
  },
  tooOld: {
    title: 'Diese Seite ist zu alt',
    text: 'Die Seite war zu lange geöffnet, oder Ihr Browser speichert keine Cookies.',
    startAgain: 'Von vorn beginnen',
    goBack: 'Gehen Sie zurück zur App, und melden Sie sich noch einmal an.',
  },
  foreignForm: {
    title: 'Dieses Formular ist nicht von uns',
    text: 'Eine andere Website hat dieses Formular gesendet, deshalb wurde es nicht gelesen. Gehen Sie zurück zur App, und melden Sie sich von dort aus an.',
  },
  deadLink: {
    title: 'Dieser Link funktioniert nicht',
    text: 'Vielleicht wurde er schon verwendet, ist zu alt oder wurde durch einen neueren ersetzt.',
    advice: {
      '/verify-email':
        'Wenn Sie Ihre Adresse schon bestätigt haben, ist alles erledigt. Wenn nicht, fordern Sie dort, wo Sie sich registriert haben, eine neue E-Mail an, und öffnen Sie deren Link.',
      '/disown-email':
        'Wenn Sie auf diese E-Mail schon geantwortet oder eine neuere angefordert haben, müssen Sie hier nichts tun.',
      '/confirm-email':
        'Wenn Sie die Adresse schon bestätigt haben, ist alles erledigt. Wenn nicht, beginnen Sie die Änderung noch einmal dort, wo Sie angemeldet sind.',
      '/undo-email-change':
        'Wenn Sie die Änderung schon rückgängig gemacht haben, ist alles erledigt. Wenn nicht, wenden Sie sich an die Betreiber dieses Dienstes.',
      '/delete-account':
        'Wenn Sie das Konto schon gelöscht haben, ist alles erledigt. Wenn nicht, beginnen Sie noch einmal dort, wo Sie angemeldet sind.',
      '/secure-account':
        'Wenn Sie Ihre Sitzungen schon beendet haben, ist alles erledigt. Wenn nicht, legen Sie dort, wo Sie sich anmelden, über „Passwort vergessen?“ ein neues Passwort fest.',
      '/reset-password':
        'Wenn Sie weiterhin ein neues Passwort brauchen, fordern Sie über „Passwort vergessen?“ eine neue E-Mail an, und öffnen Sie deren Link.',
      '/magic-link':
        'Um sich anzumelden, fordern Sie dort eine neue E-Mail an, und öffnen Sie deren Link innerhalb von 15 Minuten.',
      '/accept-invitation':
        'Wenn Sie die Einladung schon angenommen haben, ist alles erledigt. Wenn nicht, bitten Sie die Person, die Sie eingeladen hat, um eine neue.',
      '/oauth/mail': 'Fordern Sie dort, wo Sie sich anmelden wollten, eine neue E-Mail an.',
    },
  },
  unreadableForm: {
    title: 'Dieses Formular ist nicht lesbar',
    text: 'Öffnen Sie den Link aus der E-Mail noch einmal.',
  },
  errors: {
    tooMany: 'Zu viele Anfragen',
    unavailable: 'Der Dienst ist zurzeit nicht verfügbar',
    internal: 'Bei uns ist ein Fehler aufgetreten',
    locked: 'Das Konto ist nach zu vielen Fehlversuchen gesperrt',
    wait: 'Warten Sie kurz, gehen Sie zurück, und versuchen Sie es erneut.',
    goBack: 'Gehen Sie zurück, und versuchen Sie es erneut.',
    startAgain: 'Beginnen Sie die Anmeldung von vorn.',
    other: 'Das hat nicht funktioniert',
    help: (requestId) =>
      `Wenn das noch einmal geschieht, nennen Sie den Betreibern dieses Dienstes die Nummer dieser Anfrage: ${requestId}`,
  },
  apiErrors: {
    invalid_sso_state: 'Diese Anmeldung beim Anbieter ist unbekannt, abgelaufen oder schon beantwortet',
    auth_method_not_allowed: 'Diese App lässt diese Art der Anmeldung nicht zu',
    sso_provider_disabled: 'Der Anbieter ist abgeschaltet',
    app_inactive: 'Die App ist abgeschaltet',
  },
  welcome: {
    title: 'Hier melden Sie sich für Ihre Apps an',
    what: 'Dieser Dienst verwaltet Ihr Konto und meldet Sie bei den Apps Ihrer Organisation an. Auf dieser Seite gibt es nichts zu tun.',
    how: 'Um sich anzumelden, öffnen Sie die App, die Sie verwenden möchten. Sie führt Sie hierher, und danach sind Sie dort angemeldet. Wenn Sie durch eine E-Mail hierhergekommen sind, öffnen Sie den Link in dieser E-Mail.',
    developers: (reference) => html`Für Entwickler: ${reference}`,
    reference: 'die API-Referenz',
  },
  links: {
    confirm: {
      title: 'E-Mail-Adresse bestätigen',
      text: (email) => html`Ist ${email} Ihre Adresse?`,
      button: 'Ja, bestätigen',
    },
    notMine: {
      text: 'Wenn Sie kein Passwort gewählt haben, hat jemand anderes Ihre Adresse angegeben. Legen Sie ein eigenes Passwort fest: Damit endet, was die andere Person eingerichtet hat. Wenn Sie danach beim Anmelden nach einem Code gefragt werden, den Sie nicht eingerichtet haben, melden Sie sich stattdessen mit einem Link per E-Mail an.',
      button: 'Ich kenne dieses Passwort nicht',
    },
    allowChange: {
      title: 'E-Mail-Adresse ändern?',
      text: (email, newEmail) =>
        html`Jemand, der in Ihrem Konto angemeldet ist, möchte dessen Adresse von ${email} in ${newEmail} ändern. Wenn Sie das nicht waren, schließen Sie diese Seite, und legen Sie bei der Anmeldung über „Passwort vergessen?“ ein Passwort fest.`,
      button: 'Änderung erlauben',
    },
    confirmNew: (email) =>
      html`Ist ${email} die neue Adresse Ihres Kontos? Wenn Sie das nicht angefordert haben, schließen Sie diese Seite.`,
    newAddressCode: {
      text: (email, app) =>
        html`Damit ${email} die Adresse Ihres Kontos wird, kopieren Sie diesen Code in ${app}, wo Sie angemeldet sind.`,
      label: 'Bestätigungscode',
      after: 'Wenn Sie das nicht angefordert haben, schließen Sie diese Seite.',
    },
    changeAllowed: {
      title: 'Sehen Sie in das neue Postfach',
      text: (newEmail) => html`Wir senden einen Link an ${newEmail}. Ihre Adresse ändert sich, sobald Sie sie dort bestätigen.`,
    },
    delete: {
      title: 'Konto löschen?',
      text: (email) =>
        html`Damit wird das Konto ${email} gelöscht, in allen Apps, für die es gilt. Das lässt sich nicht rückgängig machen.`,
      button: 'Konto löschen',
    },
    deleted: 'Ihr Konto ist gelöscht',
    nothingMore,
    resetMailed: {
      title: 'Sehen Sie in Ihr Postfach',
      text: (email) =>
        html`Wir senden einen Link an ${email}. Öffnen Sie ihn, um ein neues Passwort festzulegen. Wenn keine E-Mail ankommt, haben Sie in den letzten Minuten schon mehrere erhalten: Versuchen Sie es später erneut.`,
    },
    disown: {
      title: 'Waren Sie das nicht?',
      text: (email, app) =>
        html`Jemand hat ${email} bei ${app} angegeben. Wenn Sie das nicht waren, löschen Sie das Konto, das damit erstellt wurde.`,
      button: 'Das war ich nicht: Konto löschen',
    },
    disowned: {
      title: 'Vielen Dank',
      text: `Das Konto ist gelöscht, sofern es noch niemand mit seinem Passwort bestätigt hat. ${nothingMore}`,
    },
    secure: {
      title: 'Waren Sie das nicht?',
      text: (email) =>
        html`Damit enden alle Sitzungen des Kontos von ${email}, in allen Apps und Browsern, und das Passwort gilt nicht mehr. Wir senden Ihnen einen Link, mit dem Sie ein neues festlegen.`,
      button: 'Alle Sitzungen beenden',
    },
    secured: {
      title: 'Alle Sitzungen sind beendet',
      text: (email) => html`Wir haben einen Link an ${email} gesendet, mit dem Sie ein neues Passwort festlegen.`,
    },
    undo: {
      title: 'E-Mail-Adresse zurückholen?',
      text: (email) =>
        html`Die Adresse Ihres Kontos wurde von ${email} in eine andere geändert. Wenn Sie das nicht waren, holen Sie sie zurück. Damit enden alle Sitzungen des Kontos, und das Passwort, der zweite Faktor und die Anbieter, die nach der Änderung hinzugekommen sind, werden entfernt.`,
      button: 'Adresse zurückholen',
    },
    undone: {
      title: 'Ihre E-Mail-Adresse gilt wieder',
      text: (email, app) =>
        html`Die Adresse Ihres Kontos ist wieder ${email}. Legen Sie jetzt ein neues Passwort fest: Wir senden Ihnen dafür einen Link. Wenn keine E-Mail ankommt, verwenden Sie bei der Anmeldung bei ${app} „Passwort vergessen?“.`,
    },
    confirmed: 'Ihre E-Mail-Adresse ist bestätigt',
    passwordSet: {
      title: 'Ihr neues Passwort gilt',
      text: (app) => html`Sie können sich damit jetzt bei ${app} anmelden. Sie wurden überall abgemeldet.`,
    },
    signInTo: (app) => `Bei ${app} anmelden`,
    signInText: 'Wenn Sie das nicht angefordert haben, schließen Sie diese Seite. Dann geschieht nichts.',
    code: {
      title: 'Ihr Anmeldecode',
      text: (app, minutes) =>
        html`Kopieren Sie diesen Code in ${app}. Er funktioniert einmal und ist noch ${lasting(minutes)} lang gültig.`,
      label: 'Anmeldecode',
      after: 'Wer ihn hat, kann sich in Ihrem Namen anmelden. Geben Sie ihn nicht weiter, und geben Sie ihn nirgendwo sonst ein.',
    },
    continueTo: (app) => html`Weiter zu ${app}`,
  },
  invitation: {
    title: (organization) => `Sie sind zu ${organization} eingeladen`,
    text: (app) =>
      html`Nehmen Sie die Einladung mit Ihrem Konto bei ${app} an. Wenn Sie keines haben, wird eines für Sie erstellt.`,
    button: 'Einladung annehmen',
    accepted: (organization) => `Sie sind Mitglied von ${organization}`,
    accountReady: 'Ihr Konto ist bereit.',
    access: {
      granted: (app) => html`Sie können sich jetzt bei ${app} anmelden.`,
      pending: (app) => html`Sie haben noch keinen Zugriff auf ${app}. Wenden Sie sich an die Person, die Sie eingeladen hat.`,
      unverified: (app) =>
        html`Öffnen Sie den Link, den Sie per E-Mail erhalten haben. Danach können Sie sich bei ${app} anmelden.`,
      unenrolled: (app) => html`${app} verlangt einen zweiten Faktor. Melden Sie sich dort an, um einen einzurichten.`,
    },
    code: {
      text: (organization) =>
        html`Melden Sie sich dort an, wo ${organization} Sie darum gebeten hat, oder registrieren Sie sich dort, und geben Sie diesen Einladungscode ein.`,
      label: 'Einladungscode',
      after: 'Wenn Sie nicht wissen, wo das ist, fragen Sie die Person, die Sie eingeladen hat.',
    },
  },
  account,
  enrolment: {
    title: 'Authenticator-App einrichten',
    scan: 'Scannen Sie dieses Bild mit einer Authenticator-App auf Ihrem Telefon.',
    picture: 'QR-Code mit dem Geheimnis, das darunter steht',
    secret: 'Oder geben Sie dieses Geheimnis in die App ein',
    code: 'Code, den die App anzeigt',
    button: 'Einschalten',
  },
  recoveryCodes: {
    title: 'Ihre Wiederherstellungscodes',
    text: 'Jeder dieser Codes funktioniert einmal anstelle eines Codes aus der App. Bewahren Sie sie dort auf, wo Sie sie auch ohne Ihr Telefon finden: Sie werden nur jetzt angezeigt.',
    label: 'Wiederherstellungscodes',
    button: 'Ich habe sie aufbewahrt',
  },
  passkeys: {
    title: 'Ihre Passkeys',
    none: 'Sie haben noch keinen Passkey. Mit einem Passkey melden Sie sich so an, wie Sie Ihr Gerät entsperren: mit Fingerabdruck, Gesicht oder PIN.',
    added: (day) => `Hinzugefügt am ${day}.`,
    lastUsed: (day) => `Zuletzt verwendet am ${day}.`,
    notUsed: 'Noch nicht verwendet.',
    synchronized: 'Er wird zwischen Ihren Geräten synchronisiert.',
    elsewhere: (host) => html`Er gehört zu ${host} und funktioniert hier nicht.`,
    noAddress: 'Unter der Adresse dieses Dienstes funktionieren keine Passkeys.',
    rename: 'Umbenennen',
    remove: (name) => `${name} entfernen`,
    name: 'Name',
    add: 'Passkey hinzufügen',
    newName: 'Name des neuen Passkeys',
    newNameValue: 'Mein Gerät',
    newNameHint: 'Damit Sie ihn wiedererkennen.',
    needsScript: 'Passkeys brauchen JavaScript.',
    signInAgain: 'Noch einmal anmelden, um etwas zu ändern',
    comeBack:
      'Um etwas zu ändern, melden Sie sich noch einmal bei einer App an, und kommen Sie innerhalb von zehn Minuten zurück.',
    noneUsed: 'Es wurde kein Passkey verwendet. Versuchen Sie es erneut, oder melden Sie sich auf andere Weise an.',
    noneMade: 'Es wurde kein Passkey erstellt. Vielleicht hat dieses Gerät schon einen für Sie.',
    noApp: {
      title: 'Öffnen Sie diese Seite aus einer Ihrer Apps',
      text: 'Sie sind hier nicht angemeldet, und die Adresse nennt keine App.',
    },
    refusals: {
      last: 'Das ist Ihre einzige Art, sich anzumelden. Legen Sie zuerst ein Passwort fest, oder fügen Sie einen weiteren Passkey hinzu.',
      known: 'Dieser Passkey wird hier schon verwendet.',
      limit: 'Mehr Passkeys sind nicht möglich. Entfernen Sie zuerst einen.',
      tooLong: 'Das hat zu lange gedauert. Versuchen Sie es erneut.',
      gone: 'Dieser Passkey wurde schon entfernt.',
      other: 'Dieser Passkey ist hier nicht verwendbar. Versuchen Sie es mit einem anderen Gerät.',
    },
  },
}
