import { html } from '../../lib/html.ts'
import { it as account } from './account/it.ts'
import { deviceTexts } from './device-texts.ts'
import { minutesIn } from './minutes.ts'
import type { PageTexts } from './page-texts.ts'

const { lasting, ahead } = minutesIn('it-IT')
const nothingMore = 'Qui non c’è altro da fare.'
const cannotWork = 'Questo accesso non è possibile'
const memorable = 'Più parole senza legame tra loro sono facili da ricordare.'

/** Readers are addressed as tu. */
export const it: PageTexts = {
  language: 'it',
  locale: 'it-IT',
  footer: { help: 'Aiuto', terms: 'Condizioni d’uso', privacy: 'Privacy' },
  optional: '(facoltativo)',
  fields: {
    email: 'Indirizzo email',
    password: 'Password',
    newPassword: 'Nuova password',
    newPasswordAgain: 'Ripeti la nuova password',
    account: 'Account',
    firstName: 'Nome',
    lastName: 'Cognome',
    twoFactorCode: 'Codice del secondo fattore',
    mailCode: 'Codice ricevuto per email',
  },
  hints: {
    twoFactorCode: 'Dalla tua app di autenticazione, oppure uno dei tuoi codici di recupero.',
    mailCode: 'Sei cifre.',
    newPassword: (least) => `Almeno ${least} caratteri. ${memorable}`,
    passwordOf: (app) => `La password del tuo account di ${app}.`,
    passwordOrNew: (app, least) =>
      `La tua password per ${app}. Se non hai ancora un account, scegline una di almeno ${least} caratteri.`,
  },
  faults: {
    required: (label) => `${label}: questo campo è obbligatorio`,
    no_email: () => 'Inserisci un indirizzo email valido',
    too_short: (_, least) => `La password deve avere almeno ${least} caratteri`,
    too_long: (label, most) => `${label}: al massimo ${most} caratteri`,
    too_many_bytes: () => 'La password è troppo lunga',
    too_common: () => 'Questa password è tra le più comuni. Scegline un’altra',
    is_email: () => 'La password non può essere l’indirizzo email',
    no_match: () => 'Le due password non coincidono',
    wrong: () => 'Il codice è errato',
    wrong_or_used: () => 'Il codice è errato o è già stato usato',
    wrong_for_account: () =>
      'La password è errata: esiste già un account con questo indirizzo. Se non ne conosci la password, scegline una nuova con «Password dimenticata?» nella pagina di accesso',
    invalid: (label) => `${label}: il valore non è valido`,
  },
  refusals: {
    twoFactorRequired: 'Questo account ha un secondo fattore. Inserisci di nuovo la password, insieme al codice.',
    enrol: (app) =>
      `${app} richiede un secondo fattore, e questo account non ne ha uno. Accedi a ${app} per configurarlo. Poi apri di nuovo questo link.`,
    passkeyOnly: (app) =>
      `${app} richiede la passkey di questo account, che questa pagina non può chiedere. Accedi a ${app} con la passkey e inserisci lì l’invito.`,
    anotherTwoFactorCode: 'Inserisci di nuovo la password, insieme a un altro codice.',
    locked: (minutes) => `Questo account è bloccato dopo troppi tentativi falliti. Riprova ${ahead(minutes)}.`,
    limited: (minutes) => `Troppi tentativi. Riprova ${ahead(minutes)}.`,
    suspended: (app) => `Questo account è sospeso. Chiedi a chi gestisce ${app} che cosa puoi fare.`,
    noAccess: (app) => `Questo account non ha accesso a ${app}. Chiedilo alla persona che ti ha invitato.`,
    domain: (app) => `${app} non accetta indirizzi di questo dominio.`,
    wrongCredentials: 'L’indirizzo email o la password sono errati.',
    passkey: 'Questa passkey non funziona qui. Accedi in un altro modo.',
    userExists: 'Esiste già un account con questo indirizzo email. Accedi, oppure scegli una nuova password.',
    invitation: 'L’invito non è più valido, oppure è per un altro indirizzo email.',
    linkRequired: 'Esiste già un account con questo indirizzo email. Accedi con la sua password.',
    wayClosed: 'Questo modo di accedere non è disponibile qui. Scegline un altro.',
    noEmailOfProvider: 'Il provider non ha comunicato il tuo indirizzo email. Accedi in un altro modo.',
    signUpClosed: (app) => `${app} non accetta nuovi account.`,
    tooLong: 'È passato troppo tempo. Accedi di nuovo.',
    unverified: 'Conferma prima il tuo indirizzo email con il link che hai ricevuto.',
    other: 'Qui non è possibile.',
  },
  providers: {
    continueWith: (provider) => `Continua con ${provider}`,
    or: 'oppure',
    denied: 'Il provider non ha eseguito l’accesso.',
    unreachable: 'Al momento il provider non è raggiungibile. Accedi in un altro modo, oppure riprova più tardi.',
    tooOld: 'Il provider non ti ha chiesto di accedere di nuovo. Accedi in un altro modo.',
    broken: 'La risposta del provider non è utilizzabile. Accedi in un altro modo.',
  },
  signIn: {
    title: 'Accedi',
    button: 'Accedi',
    keep: 'Resta connesso',
    trust: (days) =>
      days === 1 ? 'Non chiedere più in questo browser per un giorno' : `Non chiedere più in questo browser per ${days} giorni`,
    mailCode: 'Ricevi un codice per email',
    forgot: 'Password dimenticata?',
    create: 'Crea un account',
    passkey: 'Usa una passkey',
    anotherWay: 'Accedi in un altro modo',
    anotherAccount: 'Usa un altro account',
    back: 'Indietro',
    continue: 'Continua',
    invitedTo: (organization) => html`Hai ricevuto un invito da ${organization}.`,
    signedInAs: (email) => html`Hai effettuato l’accesso come ${email}.`,
    signingInAs: (email) => html`Accesso come ${email}.`,
    leadsTo: (host) => html`Ora passerai a ${host}.`,
  },
  secondFactor: {
    title: 'Inserisci il codice',
    passkey: 'Usa la tua passkey',
    why: (app) => html`${app} richiede un secondo fattore.`,
    missing: { title: 'Ti serve un secondo fattore', text: 'Il tuo account non ne ha ancora uno.' },
  },
  create: { title: 'Crea il tuo account', button: 'Crea l’account', instead: 'Ho già un account' },
  named: {
    noAccount: (email, app) => html`Non esiste ancora un account di ${app} per ${email}.`,
    signedInAs: (email) => html`Hai effettuato l’accesso come ${email}. Questo accesso terminerà in questo browser.`,
    continueAs: (email) => `Continua come ${email}`,
  },
  join: {
    title: (organization) => `Unisciti a ${organization}`,
    text: (organization, app, host) =>
      html`Hai ricevuto un invito a diventare membro di ${organization}. Poi passerai a ${app}, su ${host}.`,
    button: 'Unisciti',
  },
  organization: { title: 'Scegli un’organizzazione', legend: 'Accedi per', none: 'Nessuna organizzazione' },
  continueTo: (app) => `Continua su ${app}`,
  askMail: {
    reset: {
      title: 'Password dimenticata?',
      text: 'Ti inviamo per email un codice con cui puoi scegliere una nuova password.',
    },
    signIn: { title: 'Accedi per email', text: 'Ti inviamo per email un codice con cui puoi accedere.' },
    button: 'Invia il codice',
  },
  mail: {
    title: 'Controlla la posta',
    onItsWay: (email) => html`Un’email con un codice è in arrivo a ${email}.`,
    ifThereIs: (email) => html`Se esiste un account per ${email}, un’email con un codice è in arrivo.`,
    opened: (email) => html`Hai aperto il link inviato a ${email}.`,
    again: 'Invia di nuovo',
    setPassword: 'Salva la nuova password',
    confirm: 'Conferma',
    confirmTitle: 'Conferma il tuo indirizzo email',
    newPasswordTitle: 'Scegli una nuova password',
  },
  verify: {
    title: 'Conferma il tuo indirizzo email',
    button: 'Inviami un codice',
    why: (app) => html`${app} richiede un indirizzo email confermato.`,
    toAsk: 'Potrai chiederlo quando il tuo indirizzo sarà confermato.',
  },
  refused: {
    unknownHere: {
      title: 'Questo account non è noto qui',
      text: (app) => html`${app} non conosce questo account. Se ne hai un altro, usa quello.`,
    },
    noAccess: {
      title: 'Non hai ancora l’accesso',
      text: (app) => html`Non hai ancora accesso a ${app}. Un amministratore può dartelo.`,
      ask: 'Chiedi l’accesso',
      asked: 'Hai chiesto l’accesso. Riceverai un’email quando un amministratore avrà deciso.',
    },
    noMember: {
      title: 'Non sei membro di questa organizzazione',
      text: 'Chiedi a un amministratore dell’organizzazione di invitarti.',
    },
    suspended: {
      title: 'Il tuo account è sospeso',
      text: (app) => html`Chiedi a chi gestisce ${app} che cosa puoi fare.`,
    },
    appInactive: {
      title: 'Questa app è disattivata',
      text: (app) => html`Al momento nessuno può entrare in ${app}. Riprova più tardi.`,
    },
    other: { title: 'Non puoi entrare in questa app', text: (app) => html`Non puoi entrare in ${app}.` },
  },
  device: deviceTexts.it,
  signOut: {
    title: 'Esci',
    text: 'Vuoi uscire da questo browser e dalle app che hai aperto da qui?',
    button: 'Esci',
    done: {
      title: 'Sei uscito',
      text: 'Sei uscito da questo browser e dalle app che avevi aperto da qui.',
    },
  },
  goTo: (app) => html`Vai a ${app}`,
  requestFaults: {
    unknownApp: {
      title: 'Questa app non è nota qui',
      text: html`Nessuna app ha il <code>client_id</code> di questo link.`,
    },
    inactiveApp: {
      title: 'Questa app è disattivata',
      text: 'Al momento nessuno può accedervi. Riprova più tardi.',
    },
    title: cannotWork,
    redirectMissing: html`Nel link manca <code>redirect_uri</code>.`,
    redirectUnknown: html`Il valore di <code>redirect_uri</code> in questo link non è tra gli indirizzi di ritorno dell’app.`,
    redirectPrefixesOnly: html`Tutti gli indirizzi di ritorno dell’app finiscono con <code>*</code>. Un amministratore deve aggiungere l’indirizzo esatto.`,
    goBack: 'Torna all’app e, se succede di nuovo, avvisa chi la sviluppa.',
  },
  codeElsewhere: {
    title: 'Inserisci il codice dove lo hai richiesto',
    text: 'L’email contiene un codice di sei cifre. Inseriscilo nella pagina in cui hai richiesto l’email. In questo browser non viene effettuato l’accesso.',
  },
  elsewhere: {
    title: 'Torna dove hai iniziato',
    text: 'Questo accesso è iniziato in un altro browser. Continua lì, oppure ricomincia dall’app.',
  },
  tooOld: {
    title: 'Questa pagina è troppo vecchia',
    text: 'La pagina è rimasta aperta troppo a lungo, oppure il tuo browser non conserva i cookie.',
    startAgain: 'Ricomincia',
    goBack: 'Torna all’app e accedi di nuovo.',
  },
  foreignForm: {
    title: 'Questo modulo non è nostro',
    text: 'Un altro sito ha inviato questo modulo, quindi non è stato letto. Torna all’app e accedi da lì.',
  },
  deadLink: {
    title: 'Questo link non funziona',
    text: 'Forse è già stato usato, è troppo vecchio o è stato sostituito da uno più recente.',
    advice: {
      '/verify-email':
        'Se hai già confermato il tuo indirizzo, è tutto a posto. Altrimenti richiedi un’altra email dove ti sei registrato e apri il suo link.',
      '/disown-email': 'Se hai già risposto a questa email, o ne hai richiesta una più recente, qui non devi fare niente.',
      '/confirm-email':
        'Se hai già confermato l’indirizzo, è tutto a posto. Altrimenti richiedi di nuovo il cambio dove hai effettuato l’accesso.',
      '/undo-email-change': 'Se hai già annullato il cambio, è tutto a posto. Altrimenti contatta chi gestisce questo servizio.',
      '/delete-account':
        'Se hai già eliminato l’account, è tutto a posto. Altrimenti richiedilo di nuovo dove hai effettuato l’accesso.',
      '/secure-account':
        'Se hai già terminato le tue sessioni, è tutto a posto. Altrimenti scegli un’altra password con «Password dimenticata?» dove accedi.',
      '/reset-password':
        'Se ti serve ancora una nuova password, richiedi un’altra email con «Password dimenticata?» e apri il suo link.',
      '/magic-link': 'Per accedere, richiedi un’altra email dove vuoi accedere e apri il suo link entro 15 minuti.',
      '/accept-invitation':
        'Se hai già accettato l’invito, è tutto a posto. Altrimenti chiedine un altro alla persona che ti ha invitato.',
      '/oauth/mail': 'Richiedi un’altra email dove volevi accedere.',
    },
  },
  unreadableForm: { title: 'Questo modulo non è leggibile', text: 'Apri di nuovo il link dell’email.' },
  errors: {
    tooMany: 'Troppe richieste',
    unavailable: 'Al momento il servizio non è disponibile',
    internal: 'Si è verificato un errore da parte nostra',
    locked: 'L’account è bloccato dopo troppi tentativi falliti',
    wait: 'Attendi un po’, torna indietro e riprova.',
    goBack: 'Torna indietro e riprova.',
    startAgain: 'Ricomincia l’accesso dall’inizio.',
    other: 'Non ha funzionato',
    help: (requestId) =>
      `Se succede di nuovo, comunica a chi gestisce questo servizio il numero di questa richiesta: ${requestId}`,
  },
  apiErrors: {
    invalid_sso_state: 'Questo accesso tramite un provider non è noto, è scaduto o ha già avuto risposta',
    auth_method_not_allowed: 'Questa app non consente questo modo di accedere',
    sso_provider_disabled: 'Il provider è disattivato',
    app_inactive: 'L’app è disattivata',
  },
  welcome: {
    title: 'Qui accedi alle tue app',
    what: 'Questo servizio gestisce il tuo account e ti fa accedere alle app della tua organizzazione. In questa pagina non c’è niente da fare.',
    how: 'Per accedere, apri l’app che vuoi usare. Ti porta qui e poi torni all’app con l’accesso effettuato. Se ti ha portato qui un’email di questo servizio, apri il link che contiene.',
    developers: (reference) => html`Per gli sviluppatori: ${reference}`,
    reference: 'la documentazione dell’API',
  },
  links: {
    confirm: {
      title: 'Conferma il tuo indirizzo email',
      text: (email) => html`${email} è il tuo indirizzo?`,
      button: 'Sì, confermalo',
    },
    notMine: {
      text: 'Se non hai scelto una password, qualcun altro ha inserito il tuo indirizzo. Scegli una tua password: così viene annullato ciò che quella persona ha configurato. Se poi, per accedere, viene chiesto un codice che non hai configurato, usa invece un link di accesso per email.',
      button: 'Non conosco questa password',
    },
    allowChange: {
      title: 'Cambiare il tuo indirizzo email?',
      text: (email, newEmail) =>
        html`Qualcuno che ha effettuato l’accesso al tuo account vuole cambiarne l’indirizzo da ${email} a ${newEmail}. Se non sei stato tu, chiudi questa pagina e scegli una password con «Password dimenticata?» nella pagina di accesso.`,
      button: 'Consenti il cambio',
    },
    confirmNew: (email) => html`${email} è il nuovo indirizzo del tuo account? Se non lo hai richiesto, chiudi questa pagina.`,
    newAddressCode: {
      text: (email, app) =>
        html`Perché ${email} diventi l’indirizzo del tuo account, copia questo codice in ${app}, dove hai effettuato l’accesso.`,
      label: 'Codice di conferma',
      after: 'Se non lo hai richiesto, chiudi questa pagina.',
    },
    changeAllowed: {
      title: 'Controlla la nuova casella di posta',
      text: (newEmail) => html`Stiamo inviando un link a ${newEmail}. Il tuo indirizzo cambierà quando lo confermerai lì.`,
    },
    delete: {
      title: 'Eliminare il tuo account?',
      text: (email) =>
        html`L’account ${email} viene eliminato in tutte le app a cui può accedere. L’operazione non si può annullare.`,
      button: 'Elimina l’account',
    },
    deleted: 'Il tuo account è stato eliminato',
    nothingMore,
    resetMailed: {
      title: 'Controlla la tua casella di posta',
      text: (email) =>
        html`Stiamo inviando un link a ${email}. Aprilo per scegliere una nuova password. Se non arriva nessuna email, ne hai già ricevute diverse negli ultimi minuti: riprova più tardi.`,
    },
    disown: {
      title: 'Non sei stato tu?',
      text: (email, app) =>
        html`Qualcuno ha inserito ${email} su ${app}. Se non sei stato tu, elimina l’account creato con questo indirizzo.`,
      button: 'Non sono stato io: elimina l’account',
    },
    disowned: {
      title: 'Grazie',
      text: `L’account è stato eliminato, a meno che qualcuno lo abbia già confermato con la sua password. ${nothingMore}`,
    },
    secure: {
      title: 'Non sei stato tu?',
      text: (email) =>
        html`In questo modo terminano tutte le sessioni dell’account di ${email}, in tutte le app e in tutti i browser, e la password non vale più. Ti inviamo un link per sceglierne un’altra.`,
      button: 'Termina tutte le sessioni',
    },
    secured: {
      title: 'Tutte le sessioni sono terminate',
      text: (email) => html`Abbiamo inviato a ${email} un link per scegliere un’altra password.`,
    },
    undo: {
      title: 'Ripristinare il tuo indirizzo email?',
      text: (email) =>
        html`L’indirizzo del tuo account, ${email}, è stato sostituito con un altro. Se non sei stato tu, ripristinalo. In questo modo terminano tutte le sessioni dell’account e vengono rimossi la password, il secondo fattore e i provider aggiunti dopo il cambio.`,
      button: 'Ripristina l’indirizzo',
    },
    undone: {
      title: 'Il tuo indirizzo email è ripristinato',
      text: (email, app) =>
        html`L’indirizzo del tuo account è di nuovo ${email}. Ora scegli una nuova password: ti stiamo inviando un link per farlo. Se non arriva nessuna email, usa «Password dimenticata?» nella pagina di accesso di ${app}.`,
    },
    confirmed: 'Il tuo indirizzo email è confermato',
    passwordSet: {
      title: 'La tua nuova password è salvata',
      text: (app) => html`Ora puoi usarla per accedere a ${app}. Tutti i tuoi accessi sono stati chiusi.`,
    },
    signInTo: (app) => `Accedi a ${app}`,
    signInText: 'Se non lo hai richiesto, chiudi questa pagina. Non succederà niente.',
    code: {
      title: 'Il tuo codice di accesso',
      text: (app, minutes) => html`Copia questo codice in ${app}. Funziona una sola volta, ancora per ${lasting(minutes)}.`,
      label: 'Codice di accesso',
      after: 'Chi lo ha può accedere al posto tuo. Non condividerlo e non inserirlo da nessun’altra parte.',
    },
    continueTo: (app) => html`Continua su ${app}`,
  },
  invitation: {
    title: (organization) => `Hai ricevuto un invito da ${organization}`,
    text: (app) => html`Accettalo con il tuo account di ${app}. Se non ne hai uno, verrà creato per te.`,
    button: 'Accetta l’invito',
    accepted: (organization) => `Sei membro di ${organization}`,
    accountReady: 'Il tuo account è pronto.',
    access: {
      granted: (app) => html`Ora puoi accedere a ${app}.`,
      pending: (app) => html`Non hai ancora accesso a ${app}. Chiedilo alla persona che ti ha invitato.`,
      unverified: (app) => html`Apri il link che hai ricevuto per email. Poi potrai accedere a ${app}.`,
      unenrolled: (app) => html`${app} richiede un secondo fattore. Accedi lì per configurarne uno.`,
    },
    code: {
      text: (organization) =>
        html`Accedi o registrati dove ${organization} ti ha chiesto di farlo e inserisci lì questo codice di invito.`,
      label: 'Codice di invito',
      after: 'Se non sai dove, chiedi alla persona che ti ha invitato.',
    },
  },
  account,
  enrolment: {
    title: 'Configura la tua app di autenticazione',
    scan: 'Inquadra questa immagine con un’app di autenticazione sul telefono.',
    picture: 'Codice QR che contiene il segreto qui sotto',
    secret: 'Oppure scrivi questo segreto nell’app',
    code: 'Codice mostrato dall’app',
    button: 'Attiva',
  },
  recoveryCodes: {
    title: 'I tuoi codici di recupero',
    text: 'Ciascuno di questi codici funziona una volta al posto di un codice dell’app. Conservali dove puoi trovarli senza il telefono: vengono mostrati solo ora.',
    label: 'Codici di recupero',
    button: 'Li ho conservati',
  },
  passkeys: {
    title: 'Le tue passkey',
    none: 'Non hai ancora una passkey. Con una passkey accedi come quando sblocchi il dispositivo: con l’impronta, il volto o un PIN.',
    added: (day) => `Data di aggiunta: ${day}.`,
    lastUsed: (day) => `Ultimo utilizzo: ${day}.`,
    notUsed: 'Non ancora usata.',
    synchronized: 'È sincronizzata tra i tuoi dispositivi.',
    elsewhere: (host) => html`Appartiene a ${host} e non funziona qui.`,
    noAddress: 'Le passkey non funzionano all’indirizzo di questo servizio.',
    rename: 'Rinomina',
    remove: (name) => `Rimuovi ${name}`,
    name: 'Nome',
    add: 'Aggiungi una passkey',
    newName: 'Nome della nuova passkey',
    newNameValue: 'Il mio dispositivo',
    newNameHint: 'Per riconoscerla.',
    needsScript: 'Le passkey richiedono JavaScript.',
    signInAgain: 'Accedi di nuovo per modificare qualcosa',
    comeBack: 'Per modificare qualcosa, accedi di nuovo a un’app e torna qui entro dieci minuti.',
    noneUsed: 'Non è stata usata nessuna passkey. Riprova, oppure accedi in un altro modo.',
    noneMade: 'Non è stata creata nessuna passkey. Forse questo dispositivo ne ha già una per te.',
    noApp: {
      title: 'Apri questa pagina da una delle tue app',
      text: 'Qui non hai effettuato l’accesso e l’indirizzo non indica nessuna app.',
    },
    refusals: {
      last: 'È il tuo unico modo per accedere. Prima scegli una password o aggiungi un’altra passkey.',
      known: 'Questa passkey è già in uso qui.',
      limit: 'Hai raggiunto il numero massimo di passkey. Prima rimuovine una.',
      tooLong: 'È passato troppo tempo. Riprova.',
      gone: 'Questa passkey è già stata rimossa.',
      other: 'Questa passkey non si può usare qui. Prova con un altro dispositivo.',
    },
  },
}
