import type { MailTexts } from './mail-texts.ts'

const day = 'Der Link funktioniert einmal und ist 24 Stunden lang gültig.'
const hour = 'Der Link funktioniert einmal und ist eine Stunde lang gültig.'
const newPassword = 'legen Sie jetzt über „Passwort vergessen?“ ein neues Passwort fest'
const passive = 'Wenn Sie das nicht angefordert haben, ignorieren Sie diese E-Mail. Ohne sie ändert sich nichts.'

/** Readers are addressed as Sie. */
export const de: MailTexts = {
  locale: 'de-DE',
  hello: 'Guten Tag!',
  leadsTo: (label) => `${label}:`,
  byLink: 'Wenn die Schaltfläche nicht funktioniert, öffnen Sie diesen Link:',
  byCode: 'Oder geben Sie diesen Code auf der Seite ein, auf der Sie ihn angefordert haben:',
  where: (place) => `Wann und wo: ${place}`,
  on: (program, system) => `${program} ${system.startsWith('iP') ? 'auf dem' : 'unter'} ${system}`,
  from: (address) => `von ${address}`,
  contact: (app, support) =>
    support === undefined ? `Wenden Sie sich an die Betreiber von ${app}.` : `Wenden Sie sich an ${support}.`,
  help: (support) => `Hilfe: ${support}`,
  sentFor: (service, app) => `Diese E-Mail hat Ihnen ${service} im Auftrag von ${app} gesendet.`,
  sentBy: (service) => `Diese E-Mail hat Ihnen ${service} gesendet.`,
  because: {
    asked: 'Sie erhalten sie, weil jemand dort diese E-Mail-Adresse angegeben hat.',
    changed: 'Sie erhalten sie, weil sich an Ihrem Konto etwas geändert hat.',
    askedInside: 'Sie erhalten sie, weil jemand, der in Ihrem Konto angemeldet ist, dies angefordert hat.',
    tried: 'Sie erhalten sie, weil jemand versucht hat, sich in Ihrem Konto anzumelden.',
    signedIn: 'Sie erhalten sie, weil sich jemand mit Ihrem Konto angemeldet hat.',
    invited: 'Sie erhalten sie, weil jemand diese E-Mail-Adresse eingeladen hat.',
    requested: 'Sie erhalten sie, weil Sie Zugriff angefragt haben.',
    administers: 'Sie erhalten sie, weil Sie über den Zugriff entscheiden.',
    tested: 'Sie erhalten sie, weil ein Administrator den E-Mail-Versand getestet hat.',
  },
  actions: {
    verify_email: {
      subject: (app) => `Bestätigen Sie Ihre E-Mail-Adresse für ${app}`,
      intro: (app) =>
        `Jemand, vermutlich Sie selbst, hat diese E-Mail-Adresse bei ${app} angegeben. Bestätigen Sie, dass sie Ihnen gehört.`,
      button: 'E-Mail-Adresse bestätigen',
      after: [day],
    },
    change_email: {
      subject: (app) => `Bestätigen Sie Ihre neue E-Mail-Adresse für ${app}`,
      intro: (app) =>
        `Jemand, vermutlich Sie selbst, möchte diese E-Mail-Adresse für ein Konto bei ${app} verwenden. Bestätigen Sie, dass sie Ihnen gehört.`,
      button: 'Diese E-Mail-Adresse verwenden',
      after: [day, 'Wenn Sie das nicht waren, öffnen Sie den Link nicht. Das Konto gehört dann nicht Ihnen.'],
    },
    allow_email_change: {
      subject: (app) => `Erlauben Sie die Änderung Ihrer E-Mail-Adresse für ${app}`,
      intro: (app, newEmail) =>
        `Jemand, der in Ihrem Konto bei ${app} angemeldet ist, vermutlich Sie selbst, möchte dessen E-Mail-Adresse in ${newEmail} ändern.`,
      button: 'Änderung erlauben',
      after: [
        day,
        `Wenn Sie das nicht waren, öffnen Sie den Link nicht und ${newPassword}. Damit werden alle Sitzungen beendet.`,
      ],
    },
    undo_email_change: {
      subject: (app) => `Ihre E-Mail-Adresse für ${app} wurde geändert`,
      intro: (app) => `Für Ihr Konto bei ${app} gilt jetzt eine andere E-Mail-Adresse.`,
      button: 'Änderung rückgängig machen',
      after: [
        'Wenn Sie das waren, müssen Sie nichts weiter tun.',
        'Wenn Sie das nicht waren, machen Sie die Änderung rückgängig. Dann gilt wieder diese Adresse, alle Sitzungen des Kontos werden beendet, und das Passwort, der zweite Faktor und die Anbieter, die nach der Änderung hinzugekommen sind, werden entfernt.',
        'Der Link funktioniert einmal und ist 72 Stunden lang gültig. Legen Sie danach mit der E-Mail, die Sie dann erhalten, ein neues Passwort fest.',
      ],
    },
    delete_account: {
      subject: (app) => `Löschen Sie Ihr Konto bei ${app}`,
      intro: (app) => `Jemand, der in Ihrem Konto bei ${app} angemeldet ist, vermutlich Sie selbst, möchte es löschen.`,
      button: 'Konto löschen',
      after: [
        hour,
        `Wenn Sie das nicht waren, öffnen Sie den Link nicht und ${newPassword}. Damit werden alle Sitzungen beendet.`,
      ],
    },
    reset_password: {
      subject: (app) => `Legen Sie ein neues Passwort für ${app} fest`,
      intro: (app) => `Jemand, vermutlich Sie selbst, hat ein neues Passwort für ${app} angefordert.`,
      button: 'Neues Passwort wählen',
      after: [`${hour} Ihr bisheriges Passwort gilt, bis Sie ein neues gewählt haben.`, passive],
    },
    magic_link: {
      subject: (app) => `Ihre Anmeldung bei ${app}`,
      intro: (app) => `Jemand, vermutlich Sie selbst, möchte sich mit dieser E-Mail-Adresse bei ${app} anmelden.`,
      button: 'Anmelden',
      after: [
        'Der Link funktioniert einmal und ist 15 Minuten lang gültig. Wer ihn hat, kann sich in Ihrem Namen anmelden. Geben Sie ihn nicht weiter.',
        passive,
      ],
      afterWithCode: [
        'Der Link funktioniert einmal und ist 15 Minuten lang gültig, der Code 10 Minuten. Wer eines von beiden hat, kann sich in Ihrem Namen anmelden. Geben Sie sie nicht weiter.',
        passive,
      ],
    },
    new_sign_in: {
      subject: (app) => `Neue Anmeldung bei ${app}`,
      intro: (app) =>
        `Jemand hat sich mit Ihrem Konto bei ${app} angemeldet, in einem Browser, in dem das bisher nicht geschehen ist.`,
      button: 'Das war ich nicht',
      after: [
        'Wenn Sie das waren, müssen Sie nichts tun.',
        'Wenn Sie das nicht waren, öffnen Sie den Link. Eine Seite fragt, ob alle Sitzungen Ihres Kontos enden sollen und Sie per E-Mail einen Link für ein neues Passwort erhalten möchten. Der Link funktioniert einmal und ist 72 Stunden lang gültig.',
      ],
    },
  },
  disown: {
    text: 'Wenn Sie das nicht waren, öffnen Sie stattdessen diesen Link. Damit wird das Konto gelöscht, sofern es noch niemand mit seinem Passwort bestätigt hat.',
    label: 'Das war ich nicht',
  },
  invitation: {
    subject: (app) => `Sie wurden bei ${app} in eine Organisation eingeladen`,
    intro: (organization, app) => `Sie sind eingeladen, bei ${app} Mitglied von ${organization} zu werden.`,
    button: 'Einladung annehmen',
    until: (time) => `Der Link funktioniert einmal und ist bis zum ${time} gültig.`,
    after: 'Wenn Sie nicht wissen, wer Sie einlädt, ignorieren Sie diese E-Mail.',
  },
  accessRequested: {
    subject: (app) => `Jemand bittet um Zugriff auf ${app}`,
    intro: (app, user) => `Für ${user} wurde Zugriff auf ${app} angefragt.`,
    decide: 'So genehmigen Sie die Anfrage oder lehnen sie ab:',
  },
  accessApproved: {
    subject: (app) => `Sie haben jetzt Zugriff auf ${app}`,
    text: (app) => `Sie haben jetzt Zugriff auf ${app}. Melden Sie sich wie gewohnt an.`,
  },
  accessDenied: {
    subject: (app) => `Ihre Zugriffsanfrage für ${app} wurde abgelehnt`,
    text: (app) => `Ihre Anfrage auf Zugriff auf ${app} wurde abgelehnt.`,
    reason: (reason) => `Begründung des Administrators: ${reason}`,
  },
  test: {
    subject: (app) => `Test-E-Mail für ${app}`,
    text: 'Der E-Mail-Versand funktioniert, und so sehen die E-Mails aus. Sie müssen nichts weiter tun.',
  },
  advice: `Wenn Sie das nicht waren, ${newPassword}.`,
  notices: {
    password_changed: {
      subject: (app) => `Ihr Passwort für ${app} wurde geändert`,
      text: () => 'Das Passwort Ihres Kontos wurde geändert.',
    },
    password_reset: {
      subject: (app) => `Ihr Passwort für ${app} wurde zurückgesetzt`,
      text: () =>
        'Das Passwort Ihres Kontos wurde mit einer E-Mail an diese Adresse zurückgesetzt. Alle Sitzungen des Kontos wurden beendet.',
    },
    two_factor_activated: {
      subject: (app) => `Zwei-Faktor-Authentifizierung für ${app} aktiviert`,
      text: () => 'Für Ihr Konto wurde die Zwei-Faktor-Authentifizierung aktiviert.',
    },
    two_factor_disabled: {
      subject: (app) => `Zwei-Faktor-Authentifizierung für ${app} deaktiviert`,
      text: () => 'Für Ihr Konto wurde die Zwei-Faktor-Authentifizierung deaktiviert.',
    },
    two_factor_removed: {
      subject: (app) => `Zwei-Faktor-Authentifizierung für ${app} deaktiviert`,
      text: () => 'Ein Administrator hat die Zwei-Faktor-Authentifizierung für Ihr Konto deaktiviert.',
    },
    two_factor_locked: {
      subject: (app) => `Falsche Zwei-Faktor-Codes für Ihr Konto bei ${app}`,
      text: () =>
        'Jemand hat Ihren ersten Faktor, zum Beispiel Ihr Passwort, richtig eingegeben und danach zu viele falsche Zwei-Faktor-Codes. Codes für Ihr Konto werden nun eine Weile abgelehnt, und bei jeder Wiederholung länger.',
      advice: `Wenn Sie das nicht waren, ${newPassword}. Wenn Codes weiterhin abgelehnt werden, lassen Sie Ihr Konto entsperren.`,
    },
    recovery_codes_renewed: {
      subject: (app) => `Neue Wiederherstellungscodes für ${app}`,
      text: () => 'Ihr Konto hat neue Wiederherstellungscodes bekommen. Die alten gelten nicht mehr.',
    },
    credentials_removed: {
      subject: (app) => `Ihre E-Mail-Adresse für ${app} wurde bestätigt`,
      text: () =>
        'Ihre E-Mail-Adresse wurde durch die erste Anmeldung mit ihr bestätigt. Das Konto war angelegt worden, bevor jemand nachgewiesen hatte, dass ihm die Adresse gehört. Deshalb wurden Passwort, zweiter Faktor, verknüpfte Anbieter, Namen, Mitgliedschaften in Organisationen und Sitzungen des Kontos entfernt.',
      advice: 'Um sich wieder mit einem Passwort anzumelden, legen Sie über „Passwort vergessen?“ ein neues fest.',
    },
    email_change_requested: {
      subject: (app) => `Andere E-Mail-Adresse für ${app} angefordert`,
      text: () =>
        'Jemand, der das Passwort Ihres Kontos kennt, möchte dessen E-Mail-Adresse ändern. Solange die neue Adresse nicht bestätigt ist, ändert sich nichts. Danach erhalten Sie hier eine weitere E-Mail mit einem Link, der die Änderung rückgängig macht.',
      advice: `Wenn Sie das nicht waren, ${newPassword}. Damit wird auch die Änderung verworfen.`,
    },
    identity_linked: {
      subject: (app) => `Neue Anmeldemethode für ${app} hinzugefügt`,
      text: (provider) =>
        `Sie können sich jetzt auch über den Anbieter ${provider} bei Ihrem Konto anmelden. Wer sich dort mit dem dafür verwendeten Konto anmeldet, hat Zugriff auf Ihr Konto.`,
      advice: `Wenn Sie das nicht waren, ${newPassword}. Damit werden alle Sitzungen beendet. Entfernen Sie danach diese Anmeldemethode aus Ihrem Konto.`,
    },
    identity_unlinked: {
      subject: (app) => `Anmeldemethode für ${app} entfernt`,
      text: (provider) => `Die Anmeldung über den Anbieter ${provider} wurde aus Ihrem Konto entfernt.`,
    },
    identity_removed: {
      subject: (app) => `Anmeldemethode für ${app} entfernt`,
      text: (provider) => `Ein Administrator hat die Anmeldung über den Anbieter ${provider} aus Ihrem Konto entfernt.`,
    },
    passkey_added: {
      subject: (app) => `Ihrem Konto bei ${app} wurde ein Passkey hinzugefügt`,
      text: () =>
        'Sie können sich jetzt auch mit einem neuen Passkey bei Ihrem Konto anmelden. Wer das Gerät entsperren kann, auf dem er gespeichert ist, hat Zugriff auf Ihr Konto.',
      advice: `Wenn Sie das nicht waren, ${newPassword}. Damit werden alle Sitzungen beendet. Entfernen Sie danach den Passkey auf der Seite Ihres Kontos.`,
    },
    passkey_removed: {
      subject: (app) => `Aus Ihrem Konto bei ${app} wurde ein Passkey entfernt`,
      text: () => 'Ein Passkey wurde aus Ihrem Konto entfernt. Mit ihm können Sie sich nicht mehr anmelden.',
    },
    account_deleted: {
      subject: (app) => `Ihr Konto bei ${app} wurde gelöscht`,
      text: () =>
        'Ihr Konto wurde gelöscht, wie es in einer seiner Sitzungen angefordert wurde. Alle seine Sitzungen wurden beendet.',
      advice: 'Wenn Sie das nicht waren, holen Sie sich jetzt Hilfe.',
    },
  },
}
