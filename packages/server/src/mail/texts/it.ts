import type { MailTexts } from './mail-texts.ts'

const day = 'Il link funziona una sola volta, per 24 ore.'
const hour = 'Il link funziona una sola volta, per un’ora.'
const forgot = '«Password dimenticata?»'
const newPassword = `scegli subito una nuova password con ${forgot}`
const passive = 'Se non hai richiesto nulla, ignora questa email. Senza di essa non succede nulla.'

/** Readers are addressed as tu. */
export const it: MailTexts = {
  locale: 'it-IT',
  hello: 'Ciao,',
  leadsTo: (label) => `${label}:`,
  byLink: 'Se il pulsante non funziona, apri questo link:',
  byCode: 'Oppure inserisci questo codice nella pagina in cui lo hai richiesto:',
  where: (place) => `Quando e dove: ${place}`,
  on: (program, system) => `${program} su ${system}`,
  from: (address) => `da ${address}`,
  contact: (app, support) => (support === undefined ? `Avvisa chi gestisce ${app}.` : `Contatta ${support}.`),
  help: (support) => `Assistenza: ${support}`,
  sentFor: (service, app) => `${service} ti ha inviato questa email per conto di ${app}.`,
  sentBy: (service) => `${service} ti ha inviato questa email.`,
  because: {
    asked: 'La ricevi perché qualcuno ha inserito lì questo indirizzo email.',
    changed: 'La ricevi perché è cambiato qualcosa nel tuo account.',
    askedInside: 'La ricevi perché lo ha chiesto qualcuno che ha effettuato l’accesso al tuo account.',
    tried: 'La ricevi perché qualcuno ha provato ad accedere al tuo account.',
    signedIn: 'La ricevi perché qualcuno ha effettuato l’accesso al tuo account.',
    invited: 'La ricevi perché qualcuno ha invitato questo indirizzo email.',
    requested: 'La ricevi perché hai chiesto l’accesso.',
    administers: 'La ricevi perché sei tu a decidere gli accessi.',
    tested: 'La ricevi perché un amministratore ha provato l’invio delle email.',
  },
  actions: {
    verify_email: {
      subject: (app) => `Conferma il tuo indirizzo email per ${app}`,
      intro: (app) => `Qualcuno, probabilmente tu, ha inserito questo indirizzo email su ${app}. Conferma che è il tuo.`,
      button: 'Conferma l’indirizzo email',
      after: [day],
    },
    change_email: {
      subject: (app) => `Conferma il tuo nuovo indirizzo email per ${app}`,
      intro: (app) =>
        `Qualcuno, probabilmente tu, vuole usare questo indirizzo email per un account di ${app}. Conferma che è il tuo.`,
      button: 'Usa questo indirizzo email',
      after: [day, 'Se non sei stato tu, non aprire il link. L’account non è il tuo.'],
    },
    allow_email_change: {
      subject: (app) => `Consenti il cambio di indirizzo email per ${app}`,
      intro: (app, newEmail) =>
        `Qualcuno che ha effettuato l’accesso al tuo account di ${app}, probabilmente tu, vuole cambiarne l’indirizzo email in ${newEmail}.`,
      button: 'Consenti il cambio',
      after: [day, `Se non sei stato tu, non aprire il link e ${newPassword}. In questo modo terminano tutte le sessioni.`],
    },
    undo_email_change: {
      subject: (app) => `Il tuo indirizzo email per ${app} è stato cambiato`,
      intro: (app) => `L’indirizzo email del tuo account di ${app} è stato sostituito con un altro.`,
      button: 'Annulla il cambio',
      after: [
        'Se sei stato tu, non devi fare niente.',
        'Se non sei stato tu, annulla il cambio. In questo modo torna valido questo indirizzo, terminano tutte le sessioni dell’account e vengono rimossi la password, il secondo fattore e i provider aggiunti dopo il cambio.',
        'Il link funziona una sola volta, per 72 ore. Poi scegli una nuova password con l’email che riceverai.',
      ],
    },
    delete_account: {
      subject: (app) => `Elimina il tuo account di ${app}`,
      intro: (app) => `Qualcuno che ha effettuato l’accesso al tuo account di ${app}, probabilmente tu, vuole eliminarlo.`,
      button: 'Elimina l’account',
      after: [hour, `Se non sei stato tu, non aprire il link e ${newPassword}. In questo modo terminano tutte le sessioni.`],
    },
    reset_password: {
      subject: (app) => `Scegli una nuova password per ${app}`,
      intro: (app) => `Qualcuno, probabilmente tu, ha richiesto una nuova password per ${app}.`,
      button: 'Scegli una nuova password',
      after: [`${hour} La password attuale resta valida finché non ne scegli una nuova.`, passive],
    },
    magic_link: {
      subject: (app) => `Accedi a ${app}`,
      intro: (app) => `Qualcuno, probabilmente tu, vuole accedere a ${app} con questo indirizzo email.`,
      button: 'Accedi',
      after: ['Il link funziona una sola volta, per 15 minuti. Chi lo ha può accedere al posto tuo. Non condividerlo.', passive],
      afterWithCode: [
        'Il link funziona una sola volta, per 15 minuti, e il codice per 10. Chi ha uno dei due può accedere al posto tuo. Non condividerli.',
        passive,
      ],
    },
    new_sign_in: {
      subject: (app) => `Nuovo accesso a ${app}`,
      intro: (app) => `Qualcuno ha effettuato l’accesso a ${app} con il tuo account, da un browser mai usato prima.`,
      button: 'Non sono stato io',
      after: [
        'Se sei stato tu, non devi fare nulla.',
        'Se non sei stato tu, apri il link. Una pagina ti chiede se terminare tutte le sessioni del tuo account e ricevere un link per scegliere un’altra password. Il link funziona una sola volta, per 72 ore.',
      ],
    },
  },
  disown: {
    text: 'Se non sei stato tu, apri invece questo link. Elimina l’account, a meno che qualcuno lo abbia già confermato con la sua password.',
    label: 'Non sono stato io',
  },
  invitation: {
    subject: (app) => `Hai ricevuto un invito da un’organizzazione su ${app}`,
    intro: (organization, app) => `Hai ricevuto un invito a diventare membro dell’organizzazione ${organization} su ${app}.`,
    button: 'Accetta l’invito',
    until: (time) => `Il link funziona una sola volta. Scadenza: ${time}.`,
    after: 'Se non sai chi ti invita, ignora questa email.',
  },
  accessRequested: {
    subject: (app) => `Un utente chiede l’accesso a ${app}`,
    intro: (app, user) => `L’utente ${user} chiede l’accesso a ${app}.`,
    decide: 'Per approvare o rifiutare la richiesta:',
  },
  accessApproved: {
    subject: (app) => `Ora hai l’accesso a ${app}`,
    text: (app) => `Ora hai l’accesso a ${app}. Accedi come al solito.`,
  },
  accessDenied: {
    subject: (app) => `La tua richiesta di accesso a ${app} è stata rifiutata`,
    text: (app) => `La tua richiesta di accesso a ${app} è stata rifiutata.`,
    reason: (reason) => `Motivo indicato dall’amministratore: ${reason}`,
  },
  test: {
    subject: (app) => `Email di prova per ${app}`,
    text: 'Le email ti arrivano, e hanno questo aspetto. Non devi fare niente.',
  },
  advice: `Se non sei stato tu, ${newPassword}.`,
  notices: {
    password_changed: {
      subject: (app) => `La tua password di ${app} è stata cambiata`,
      text: () => 'La password del tuo account è stata cambiata.',
    },
    password_reset: {
      subject: (app) => `La tua password di ${app} è stata reimpostata`,
      text: () =>
        'La password del tuo account è stata reimpostata con un’email inviata a questo indirizzo. Tutte le sessioni dell’account sono terminate.',
    },
    two_factor_activated: {
      subject: (app) => `Autenticazione a due fattori attivata per ${app}`,
      text: () => 'L’autenticazione a due fattori è stata attivata per il tuo account.',
    },
    two_factor_disabled: {
      subject: (app) => `Autenticazione a due fattori disattivata per ${app}`,
      text: () => 'L’autenticazione a due fattori è stata disattivata per il tuo account.',
    },
    two_factor_removed: {
      subject: (app) => `Autenticazione a due fattori disattivata per ${app}`,
      text: () => 'Un amministratore ha disattivato l’autenticazione a due fattori per il tuo account.',
    },
    two_factor_locked: {
      subject: (app) => `Codici a due fattori errati per il tuo account di ${app}`,
      text: () =>
        'Qualcuno ha superato il tuo primo fattore, per esempio la password, e poi ha inviato troppi codici a due fattori errati. I codici per il tuo account vengono rifiutati per un po’, e ogni volta più a lungo.',
      advice: `Se non sei stato tu, ${newPassword}. Se i codici continuano a essere rifiutati, chiedi di sbloccare il tuo account.`,
    },
    recovery_codes_renewed: {
      subject: (app) => `Nuovi codici di recupero per ${app}`,
      text: () => 'Il tuo account ha nuovi codici di recupero. Quelli di prima non funzionano più.',
    },
    credentials_removed: {
      subject: (app) => `Il tuo indirizzo email per ${app} è stato confermato`,
      text: () =>
        'Il tuo indirizzo email è stato confermato dal primo accesso effettuato con esso. L’account era stato creato prima che qualcuno dimostrasse che l’indirizzo è suo, quindi sono stati rimossi la password, il secondo fattore, i provider collegati, i nomi, le appartenenze a organizzazioni e le sessioni.',
      advice: `Per accedere di nuovo con una password, scegline una nuova con ${forgot}.`,
    },
    email_change_requested: {
      subject: (app) => `È stato richiesto un altro indirizzo email per ${app}`,
      text: () =>
        'Qualcuno che conosce la password del tuo account ha chiesto di cambiarne l’indirizzo email. Non cambia nulla finché il nuovo indirizzo non viene confermato. A quel punto riceverai qui un’altra email, con un link che annulla il cambio.',
      advice: `Se non sei stato tu, ${newPassword}. In questo modo si annulla anche il cambio.`,
    },
    identity_linked: {
      subject: (app) => `È stato aggiunto un modo per accedere a ${app}`,
      text: (provider) =>
        `Il provider ${provider} è stato aggiunto ai modi per accedere al tuo account. Chi accede lì con l’account usato per questo collegamento accede al tuo account.`,
      advice: `Se non sei stato tu, ${newPassword}: in questo modo terminano tutte le sessioni. Poi rimuovi questo modo di accedere dal tuo account.`,
    },
    identity_unlinked: {
      subject: (app) => `È stato rimosso un modo per accedere a ${app}`,
      text: (provider) => `Il provider ${provider} è stato rimosso dai modi per accedere al tuo account.`,
    },
    identity_removed: {
      subject: (app) => `È stato rimosso un modo per accedere a ${app}`,
      text: (provider) => `Un amministratore ha rimosso il provider ${provider} dai modi per accedere al tuo account.`,
    },
    passkey_added: {
      subject: (app) => `È stata aggiunta una passkey al tuo account di ${app}`,
      text: () =>
        'È stata aggiunta una passkey ai modi per accedere al tuo account. Chi può sbloccare il dispositivo che la contiene accede al tuo account.',
      advice: `Se non sei stato tu, ${newPassword}: in questo modo terminano tutte le sessioni. Poi rimuovi la passkey nella pagina del tuo account.`,
    },
    passkey_removed: {
      subject: (app) => `È stata rimossa una passkey dal tuo account di ${app}`,
      text: () => 'È stata rimossa una passkey dai modi per accedere al tuo account. Non permette più di accedere.',
    },
    account_deleted: {
      subject: (app) => `Il tuo account di ${app} è stato eliminato`,
      text: () =>
        'Il tuo account è stato eliminato, come richiesto da una delle sue sessioni. Tutte le sue sessioni sono terminate.',
      advice: 'Se non sei stato tu, chiedi subito aiuto.',
    },
  },
}
