import { type Html, html } from '../../lib/html.ts'
import type { Language } from '../../lib/locale.ts'

/** A title, and what stands below it. */
interface Told {
  title: string
  text: string
}

/** The texts of the page on which a person allows the sign-in of a device. */
export interface DeviceTexts {
  enter: Told & { button: string; label: string; hint: string; wrong: string; limited: string; over: string }
  ask: {
    title(app: string): string
    text(app: Html): Html
    from: { program: string; address: string; time: string }
    warning: string
    allow: string
    deny: string
  }
  approved: Told
  denied: Told
}

export const deviceTexts: Readonly<Record<Language, DeviceTexts>> = {
  en: {
    enter: {
      title: 'Sign in on a device',
      text: 'Type the code that your device or terminal shows.',
      label: 'Code',
      hint: 'Eight letters, such as BCDF-GHJK',
      button: 'Continue',
      wrong: 'No device waits with this code. Check it, or start again on the device.',
      limited: 'Too many wrong codes. Try again in ten minutes.',
      over: 'The device no longer waits. Start again on the device.',
    },
    ask: {
      title: (app) => `Allow sign-in to ${app}?`,
      text: (app) => html`A device asks to sign in to ${app} as you.`,
      from: { program: 'Device', address: 'Address', time: 'Asked at' },
      warning: 'Allow it only if you have started this yourself just now. If somebody sent you the code, deny it.',
      allow: 'Allow',
      deny: 'Deny',
    },
    approved: { title: 'The device is signed in', text: 'Go back to your device. You can close this window.' },
    denied: { title: 'The device is not signed in', text: 'You have denied the sign-in. You can close this window.' },
  },
  de: {
    enter: {
      title: 'Auf einem Gerät anmelden',
      text: 'Geben Sie den Code ein, den Ihr Gerät oder Terminal zeigt.',
      label: 'Code',
      hint: 'Acht Buchstaben, zum Beispiel BCDF-GHJK',
      button: 'Weiter',
      wrong: 'Kein Gerät wartet mit diesem Code. Prüfen Sie ihn, oder beginnen Sie am Gerät von vorn.',
      limited: 'Zu viele falsche Codes. Versuchen Sie es in zehn Minuten noch einmal.',
      over: 'Das Gerät wartet nicht mehr. Beginnen Sie am Gerät von vorn.',
    },
    ask: {
      title: (app) => `Anmeldung bei ${app} erlauben?`,
      text: (app) => html`Ein Gerät möchte sich mit Ihrem Konto bei ${app} anmelden.`,
      from: { program: 'Gerät', address: 'Adresse', time: 'Angefragt um' },
      warning:
        'Erlauben Sie es nur, wenn Sie das gerade selbst begonnen haben. Wenn Ihnen jemand den Code geschickt hat, lehnen Sie ab.',
      allow: 'Erlauben',
      deny: 'Ablehnen',
    },
    approved: {
      title: 'Das Gerät ist angemeldet',
      text: 'Gehen Sie zurück zu Ihrem Gerät. Sie können dieses Fenster schließen.',
    },
    denied: {
      title: 'Das Gerät ist nicht angemeldet',
      text: 'Sie haben die Anmeldung abgelehnt. Sie können dieses Fenster schließen.',
    },
  },
  fr: {
    enter: {
      title: 'Se connecter sur un appareil',
      text: 'Saisissez le code affiché par votre appareil ou votre terminal.',
      label: 'Code',
      hint: 'Huit lettres, par exemple BCDF-GHJK',
      button: 'Continuer',
      wrong: 'Aucun appareil n’attend avec ce code. Vérifiez-le, ou recommencez sur l’appareil.',
      limited: 'Trop de codes erronés. Réessayez dans dix minutes.',
      over: 'L’appareil n’attend plus. Recommencez sur l’appareil.',
    },
    ask: {
      title: (app) => `Autoriser la connexion à ${app} ?`,
      text: (app) => html`Un appareil demande à se connecter à ${app} avec votre compte.`,
      from: { program: 'Appareil', address: 'Adresse', time: 'Demandé à' },
      warning: 'N’autorisez que si vous venez de commencer vous-même. Si quelqu’un vous a envoyé le code, refusez.',
      allow: 'Autoriser',
      deny: 'Refuser',
    },
    approved: { title: 'L’appareil est connecté', text: 'Revenez à votre appareil. Vous pouvez fermer cette fenêtre.' },
    denied: {
      title: 'L’appareil n’est pas connecté',
      text: 'Vous avez refusé la connexion. Vous pouvez fermer cette fenêtre.',
    },
  },
  es: {
    enter: {
      title: 'Iniciar sesión en un dispositivo',
      text: 'Escribe el código que muestra tu dispositivo o terminal.',
      label: 'Código',
      hint: 'Ocho letras, por ejemplo BCDF-GHJK',
      button: 'Continuar',
      wrong: 'Ningún dispositivo espera con este código. Compruébalo o empieza de nuevo en el dispositivo.',
      limited: 'Demasiados códigos incorrectos. Inténtalo de nuevo dentro de diez minutos.',
      over: 'El dispositivo ya no espera. Empieza de nuevo en el dispositivo.',
    },
    ask: {
      title: (app) => `¿Permitir el acceso a ${app}?`,
      text: (app) => html`Un dispositivo quiere iniciar sesión en ${app} con tu cuenta.`,
      from: { program: 'Dispositivo', address: 'Dirección', time: 'Solicitado a las' },
      warning: 'Permítelo solo si acabas de empezarlo tú. Si alguien te envió el código, recházalo.',
      allow: 'Permitir',
      deny: 'Rechazar',
    },
    approved: { title: 'El dispositivo ha iniciado sesión', text: 'Vuelve a tu dispositivo. Puedes cerrar esta ventana.' },
    denied: {
      title: 'El dispositivo no ha iniciado sesión',
      text: 'Has rechazado el inicio de sesión. Puedes cerrar esta ventana.',
    },
  },
  it: {
    enter: {
      title: 'Accedi su un dispositivo',
      text: 'Scrivi il codice mostrato dal tuo dispositivo o terminale.',
      label: 'Codice',
      hint: 'Otto lettere, per esempio BCDF-GHJK',
      button: 'Continua',
      wrong: 'Nessun dispositivo attende con questo codice. Controllalo o ricomincia dal dispositivo.',
      limited: 'Troppi codici errati. Riprova tra dieci minuti.',
      over: 'Il dispositivo non attende più. Ricomincia dal dispositivo.',
    },
    ask: {
      title: (app) => `Consentire l’accesso a ${app}?`,
      text: (app) => html`Un dispositivo chiede di accedere a ${app} con il tuo account.`,
      from: { program: 'Dispositivo', address: 'Indirizzo', time: 'Richiesto alle' },
      warning: 'Consentilo solo se l’hai appena avviato tu. Se qualcuno ti ha mandato il codice, rifiuta.',
      allow: 'Consenti',
      deny: 'Rifiuta',
    },
    approved: {
      title: 'Il dispositivo ha effettuato l’accesso',
      text: 'Torna al tuo dispositivo. Puoi chiudere questa finestra.',
    },
    denied: {
      title: 'Il dispositivo non ha effettuato l’accesso',
      text: 'Hai rifiutato l’accesso. Puoi chiudere questa finestra.',
    },
  },
  pt: {
    enter: {
      title: 'Entrar num dispositivo',
      text: 'Escreva o código que o seu dispositivo ou terminal mostra.',
      label: 'Código',
      hint: 'Oito letras, por exemplo BCDF-GHJK',
      button: 'Continuar',
      wrong: 'Nenhum dispositivo espera com este código. Verifique-o ou comece de novo no dispositivo.',
      limited: 'Demasiados códigos errados. Tente novamente dentro de dez minutos.',
      over: 'O dispositivo já não espera. Comece de novo no dispositivo.',
    },
    ask: {
      title: (app) => `Permitir a entrada em ${app}?`,
      text: (app) => html`Um dispositivo pede para entrar em ${app} com a sua conta.`,
      from: { program: 'Dispositivo', address: 'Endereço', time: 'Pedido às' },
      warning: 'Permita apenas se acabou de o iniciar. Se alguém lhe enviou o código, recuse.',
      allow: 'Permitir',
      deny: 'Recusar',
    },
    approved: { title: 'O dispositivo entrou', text: 'Volte ao seu dispositivo. Pode fechar esta janela.' },
    denied: { title: 'O dispositivo não entrou', text: 'Recusou a entrada. Pode fechar esta janela.' },
  },
}
