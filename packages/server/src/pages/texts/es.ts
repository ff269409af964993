import { html } from '../../lib/html.ts'
import { es as account } from './account/es.ts'
import { deviceTexts } from './device-texts.ts'
import { minutesIn } from './minutes.ts'
import type { PageTexts } from './page-texts.ts'

const { lasting, ahead } = minutesIn('es-ES')
const nothingMore = 'No tienes que hacer nada más aquí.'
const cannotWork = 'Este inicio de sesión no es posible'
const memorable = 'Varias palabras sin relación entre sí son fáciles de recordar.'

/** Readers are addressed as tú. */
export const es: PageTexts = {
  language: 'es',
  locale: 'es-ES',
  footer: { help: 'Ayuda', terms: 'Condiciones de uso', privacy: 'Privacidad' },
  optional: '(opcional)',
  fields: {
    email: 'Dirección de correo',
    password: 'Contraseña',
    newPassword: 'Contraseña nueva',
    newPasswordAgain: 'Repite la contraseña nueva',
    account: 'Cuenta',
    firstName: 'Nombre',
    lastName: 'Apellidos',
    twoFactorCode: 'Código del segundo factor',
    mailCode: 'Código del correo',
  },
  hints: {
    twoFactorCode: 'El de tu aplicación de autenticación o uno de tus códigos de recuperación.',
    mailCode: 'Seis cifras.',
    newPassword: (least) => `Al menos ${least} caracteres. ${memorable}`,
    passwordOf: (app) => `La contraseña de tu cuenta de ${app}.`,
    passwordOrNew: (app, least) =>
      `Tu contraseña de ${app}. Si todavía no tienes cuenta, elige una de al menos ${least} caracteres.`,
  },
  faults: {
    required: (label) => `${label}: este campo es obligatorio`,
    no_email: () => 'Escribe una dirección de correo válida',
    too_short: (_, least) => `La contraseña debe tener al menos ${least} caracteres`,
    too_long: (label, most) => `${label}: como máximo ${most} caracteres`,
    too_many_bytes: () => 'La contraseña es demasiado larga',
    too_common: () => 'Esta contraseña es una de las más comunes. Elige otra',
    is_email: () => 'La contraseña no puede ser la dirección de correo',
    no_match: () => 'Las dos contraseñas no coinciden',
    wrong: () => 'El código no es correcto',
    wrong_or_used: () => 'El código no es correcto o ya se ha usado',
    wrong_for_account: () =>
      'La contraseña no es correcta: ya hay una cuenta con esta dirección. Si no conoces su contraseña, elige una nueva con «¿Has olvidado tu contraseña?» en la página de inicio de sesión',
    invalid: (label) => `${label}: el valor no es válido`,
  },
  refusals: {
    twoFactorRequired: 'Esta cuenta tiene un segundo factor. Vuelve a escribir la contraseña junto con el código.',
    enrol: (app) =>
      `${app} pide un segundo factor y esta cuenta no tiene ninguno. Inicia sesión en ${app} para configurarlo. Después, vuelve a abrir este enlace.`,
    passkeyOnly: (app) =>
      `${app} pide la llave de acceso de esta cuenta, y esta página no puede pedirla. Inicia sesión con ella en ${app} y escribe allí la invitación.`,
    anotherTwoFactorCode: 'Vuelve a escribir la contraseña junto con otro código.',
    locked: (minutes) => `Esta cuenta está bloqueada tras demasiados intentos fallidos. Vuelve a intentarlo ${ahead(minutes)}.`,
    limited: (minutes) => `Demasiados intentos. Vuelve a intentarlo ${ahead(minutes)}.`,
    suspended: (app) => `Esta cuenta está suspendida. Pregunta a los responsables de ${app} qué puedes hacer.`,
    noAccess: (app) => `Esta cuenta no tiene acceso a ${app}. Pídeselo a la persona que te ha invitado.`,
    domain: (app) => `${app} no acepta direcciones de este dominio.`,
    wrongCredentials: 'La dirección de correo o la contraseña no es correcta.',
    passkey: 'Esta llave de acceso no funciona aquí. Inicia sesión de otra forma.',
    userExists: 'Ya hay una cuenta con esta dirección de correo. Inicia sesión o elige una contraseña nueva.',
    invitation: 'La invitación ya no es válida o es para otra dirección de correo.',
    linkRequired: 'Ya hay una cuenta con esta dirección de correo. Inicia sesión en ella con su contraseña.',
    wayClosed: 'Esta forma de iniciar sesión no está disponible aquí. Elige otra.',
    noEmailOfProvider: 'El proveedor no ha comunicado tu dirección de correo. Inicia sesión de otra forma.',
    signUpClosed: (app) => `${app} no admite cuentas nuevas.`,
    tooLong: 'Ha pasado demasiado tiempo. Vuelve a iniciar sesión.',
    unverified: 'Confirma primero tu dirección de correo con el enlace que has recibido.',
    other: 'Aquí no es posible.',
  },
  providers: {
    continueWith: (provider) => `Continuar con ${provider}`,
    or: 'o',
    denied: 'El proveedor no ha iniciado tu sesión.',
    unreachable:
      'En este momento no se puede contactar con el proveedor. Inicia sesión de otra forma o vuelve a intentarlo más tarde.',
    tooOld: 'El proveedor no te ha pedido que vuelvas a iniciar sesión. Inicia sesión de otra forma.',
    broken: 'La respuesta del proveedor no se puede usar. Inicia sesión de otra forma.',
  },
  signIn: {
    title: 'Iniciar sesión',
    button: 'Iniciar sesión',
    keep: 'Mantener la sesión iniciada',
    trust: (days) =>
      days === 1
        ? 'No volver a preguntar en este navegador durante un día'
        : `No volver a preguntar en este navegador durante ${days} días`,
    mailCode: 'Recibir un código por correo',
    forgot: '¿Has olvidado tu contraseña?',
    create: 'Crear una cuenta',
    passkey: 'Usar una llave de acceso',
    anotherWay: 'Iniciar sesión de otra forma',
    anotherAccount: 'Usar otra cuenta',
    back: 'Volver',
    continue: 'Continuar',
    invitedTo: (organization) => html`Tienes una invitación para unirte a ${organization}.`,
    signedInAs: (email) => html`Has iniciado sesión como ${email}.`,
    signingInAs: (email) => html`Inicio de sesión como ${email}.`,
    leadsTo: (host) => html`A continuación irás a ${host}.`,
  },
  secondFactor: {
    title: 'Escribe tu código',
    passkey: 'Usa tu llave de acceso',
    why: (app) => html`${app} pide un segundo factor.`,
    missing: { title: 'Necesitas un segundo factor', text: 'Tu cuenta todavía no tiene ninguno.' },
  },
  create: { title: 'Crea tu cuenta', button: 'Crear la cuenta', instead: 'Ya tengo una cuenta' },
  named: {
    noAccount: (email, app) => html`Todavía no hay ninguna cuenta de ${app} para ${email}.`,
    signedInAs: (email) => html`Has iniciado sesión como ${email}. Esa sesión se cerrará en este navegador.`,
    continueAs: (email) => `Continuar como ${email}`,
  },
  join: {
    title: (organization) => `Unirse a ${organization}`,
    text: (organization, app, host) =>
      html`Tienes una invitación para ser miembro de ${organization}. Después irás a ${app}, en ${host}.`,
    button: 'Unirse',
  },
  organization: { title: 'Elige una organización', legend: 'Iniciar sesión para', none: 'Ninguna organización' },
  continueTo: (app) => `Continuar a ${app}`,
  askMail: {
    reset: {
      title: '¿Has olvidado tu contraseña?',
      text: 'Te enviamos por correo un código con el que puedes elegir una contraseña nueva.',
    },
    signIn: {
      title: 'Iniciar sesión por correo',
      text: 'Te enviamos por correo un código con el que puedes iniciar sesión.',
    },
    button: 'Enviar el código',
  },
  mail: {
    title: 'Mira tu correo',
    onItsWay: (email) => html`Un correo con un código va de camino a ${email}.`,
    ifThereIs: (email) => html`Si hay una cuenta para ${email}, un correo con un código va de camino.`,
    opened: (email) => html`Has abierto el enlace que se envió a ${email}.`,
    again: 'Enviarlo otra vez',
    setPassword: 'Guardar la contraseña nueva',
    confirm: 'Confirmar',
    confirmTitle: 'Confirma tu dirección de correo',
    newPasswordTitle: 'Elige una contraseña nueva',
  },
  verify: {
    title: 'Confirma tu dirección de correo',
    button: 'Enviarme un código',
    why: (app) => html`${app} pide una dirección de correo confirmada.`,
    toAsk: 'Podrás pedirlo cuando tu dirección esté confirmada.',
  },
  refused: {
    unknownHere: {
      title: 'Esta cuenta no se conoce aquí',
      text: (app) => html`${app} no conoce esta cuenta. Si tienes otra, úsala.`,
    },
    noAccess: {
      title: 'Todavía no tienes acceso',
      text: (app) => html`Todavía no tienes acceso a ${app}. Un administrador puede dártelo.`,
      ask: 'Pedir acceso',
      asked: 'Has pedido acceso. Recibirás un correo cuando un administrador lo haya decidido.',
    },
    noMember: {
      title: 'No eres miembro de esta organización',
      text: 'Pide a un administrador de la organización que te invite.',
    },
    suspended: {
      title: 'Tu cuenta está suspendida',
      text: (app) => html`Pregunta a los responsables de ${app} qué puedes hacer.`,
    },
    appInactive: {
      title: 'Esta aplicación está desactivada',
      text: (app) => html`En este momento nadie puede entrar en ${app}. Vuelve a intentarlo más tarde.`,
    },
    other: { title: 'No puedes entrar en esta aplicación', text: (app) => html`No puedes entrar en ${app}.` },
  },
  device: deviceTexts.es,
  signOut: {
    title: 'Cerrar sesión',
    text: '¿Quieres cerrar la sesión en este navegador y en las aplicaciones que has abierto desde él?',
    button: 'Cerrar sesión',
    done: {
      title: 'Has cerrado la sesión',
      text: 'Has cerrado la sesión en este navegador y en las aplicaciones que habías abierto desde él.',
    },
  },
  goTo: (app) => html`Ir a ${app}`,
  requestFaults: {
    unknownApp: {
      title: 'Esta aplicación no se conoce aquí',
      text: html`Ninguna aplicación tiene el <code>client_id</code> de este enlace.`,
    },
    inactiveApp: {
      title: 'Esta aplicación está desactivada',
      text: 'En este momento nadie puede iniciar sesión en ella. Vuelve a intentarlo más tarde.',
    },
    title: cannotWork,
    redirectMissing: html`Al enlace le falta <code>redirect_uri</code>.`,
    redirectUnknown: html`El valor de <code>redirect_uri</code> de este enlace no es una de las direcciones de vuelta de la aplicación.`,
    redirectPrefixesOnly: html`Todas las direcciones de vuelta de la aplicación terminan en <code>*</code>. Un administrador tiene que añadir la dirección exacta.`,
    goBack: 'Vuelve a la aplicación y, si ocurre de nuevo, avisa a quienes la desarrollan.',
  },
  codeElsewhere: {
    title: 'Escribe el código donde lo has pedido',
    text: 'El correo tiene un código de seis cifras. Escríbelo en la página donde has pedido el correo. En este navegador no se inicia la sesión.',
  },
  elsewhere: {
    title: 'Vuelve a donde has empezado',
    text: 'Este inicio de sesión ha empezado en otro navegador. Continúa allí o vuelve a empezar desde la aplicación.',
  },
  tooOld: {
    title: 'Esta página es demasiado antigua',
    text: 'La página ha estado abierta demasiado tiempo o tu navegador no guarda las cookies.',
    startAgain: 'Empezar de nuevo',
    goBack: 'Vuelve a la aplicación e inicia sesión otra vez.',
  },
  foreignForm: {
    title: 'Este formulario no es nuestro',
    text: 'Otro sitio ha enviado este formulario, así que no se ha leído. Vuelve a la aplicación e inicia sesión desde allí.',
  },
  deadLink: {
    title: 'Este enlace no funciona',
    text: 'Puede que ya se haya usado, que sea demasiado antiguo o que otro más reciente lo haya sustituido.',
    advice: {
      '/verify-email':
        'Si ya has confirmado tu dirección, está todo hecho. Si no, pide otro correo donde te has registrado y abre su enlace.',
      '/disown-email': 'Si ya has respondido a este correo o has pedido otro más reciente, no tienes que hacer nada aquí.',
      '/confirm-email':
        'Si ya has confirmado la dirección, está todo hecho. Si no, vuelve a pedir el cambio donde tienes la sesión iniciada.',
      '/undo-email-change':
        'Si ya has deshecho el cambio, está todo hecho. Si no, ponte en contacto con los responsables de este servicio.',
      '/delete-account':
        'Si ya has eliminado la cuenta, está todo hecho. Si no, vuelve a pedirlo donde tienes la sesión iniciada.',
      '/secure-account':
        'Si ya has cerrado tus sesiones, está todo hecho. Si no, elige otra contraseña con «¿Has olvidado tu contraseña?» donde inicias sesión.',
      '/reset-password':
        'Si todavía necesitas una contraseña nueva, pide otro correo con «¿Has olvidado tu contraseña?» y abre su enlace.',
      '/magic-link': 'Para iniciar sesión, pide otro correo donde quieras hacerlo y abre su enlace en un plazo de 15 minutos.',
      '/accept-invitation':
        'Si ya has aceptado la invitación, está todo hecho. Si no, pide otra a la persona que te ha invitado.',
      '/oauth/mail': 'Pide otro correo donde querías iniciar sesión.',
    },
  },
  unreadableForm: { title: 'Este formulario no se puede leer', text: 'Vuelve a abrir el enlace del correo.' },
  errors: {
    tooMany: 'Demasiadas solicitudes',
    unavailable: 'El servicio no está disponible en este momento',
    internal: 'Algo ha fallado por nuestra parte',
    locked: 'La cuenta está bloqueada tras demasiados intentos fallidos',
    wait: 'Espera un poco, vuelve atrás e inténtalo de nuevo.',
    goBack: 'Vuelve atrás e inténtalo de nuevo.',
    startAgain: 'Empieza de nuevo a iniciar sesión.',
    other: 'No ha funcionado',
    help: (requestId) =>
      `Si ocurre de nuevo, indica a los responsables de este servicio el número de esta solicitud: ${requestId}`,
  },
  apiErrors: {
    invalid_sso_state: 'Este inicio de sesión con un proveedor no se conoce, ha caducado o ya se ha respondido',
    auth_method_not_allowed: 'Esta aplicación no permite esta forma de iniciar sesión',
    sso_provider_disabled: 'El proveedor está desactivado',
    app_inactive: 'La aplicación está desactivada',
  },
  welcome: {
    title: 'Aquí inicias sesión en tus aplicaciones',
    what: 'Este servicio guarda tu cuenta e inicia tu sesión en las aplicaciones de tu organización. En esta página no hay nada que hacer.',
    how: 'Para iniciar sesión, abre la aplicación que quieras usar. Te trae aquí y después vuelves a ella con la sesión iniciada. Si te ha traído aquí un correo de este servicio, abre el enlace de ese correo.',
    developers: (reference) => html`Para desarrolladores: ${reference}`,
    reference: 'la referencia de la API',
  },
  links: {
    confirm: {
      title: 'Confirma tu dirección de correo',
      text: (email) => html`¿Es ${email} tu dirección?`,
      button: 'Sí, confirmarla',
    },
    notMine: {
      text: 'Si no has elegido ninguna contraseña, otra persona ha indicado tu dirección. Elige tu propia contraseña: así se anula lo que esa persona haya configurado. Si después, al iniciar sesión, se pide un código que no has configurado, usa un enlace de inicio de sesión por correo.',
      button: 'No conozco esta contraseña',
    },
    allowChange: {
      title: '¿Cambiar tu dirección de correo?',
      text: (email, newEmail) =>
        html`Alguien que tiene la sesión iniciada en tu cuenta quiere cambiar su dirección de ${email} a ${newEmail}. Si no has sido tú, cierra esta página y elige una contraseña con «¿Has olvidado tu contraseña?» en la página de inicio de sesión.`,
      button: 'Permitir el cambio',
    },
    confirmNew: (email) => html`¿Es ${email} la nueva dirección de tu cuenta? Si no lo has pedido, cierra esta página.`,
    newAddressCode: {
      text: (email, app) =>
        html`Para que ${email} sea la dirección de tu cuenta, copia este código en ${app}, donde tienes la sesión iniciada.`,
      label: 'Código de confirmación',
      after: 'Si no lo has pedido, cierra esta página.',
    },
    changeAllowed: {
      title: 'Mira el buzón nuevo',
      text: (newEmail) => html`Enviamos un enlace a ${newEmail}. Tu dirección cambiará cuando la confirmes allí.`,
    },
    delete: {
      title: '¿Eliminar tu cuenta?',
      text: (email) =>
        html`Se eliminará la cuenta ${email} en todas las aplicaciones en las que puede entrar. No se puede deshacer.`,
      button: 'Eliminar la cuenta',
    },
    deleted: 'Tu cuenta se ha eliminado',
    nothingMore,
    resetMailed: {
      title: 'Mira tu buzón',
      text: (email) =>
        html`Enviamos un enlace a ${email}. Ábrelo para elegir una contraseña nueva. Si no llega ningún correo, ya has recibido varios en los últimos minutos: vuelve a intentarlo más tarde.`,
    },
    disown: {
      title: '¿No has sido tú?',
      text: (email, app) =>
        html`Alguien ha indicado ${email} en ${app}. Si no has sido tú, elimina la cuenta que se creó con esa dirección.`,
      button: 'No he sido yo: eliminar la cuenta',
    },
    disowned: {
      title: 'Gracias',
      text: `La cuenta se ha eliminado, salvo que alguien ya la haya confirmado con su contraseña. ${nothingMore}`,
    },
    secure: {
      title: '¿No has sido tú?',
      text: (email) =>
        html`Así se cierran todas las sesiones de la cuenta de ${email}, en todas las aplicaciones y navegadores, y la contraseña deja de valer. Te enviamos un enlace para elegir otra.`,
      button: 'Cerrar todas las sesiones',
    },
    secured: {
      title: 'Se han cerrado todas las sesiones',
      text: (email) => html`Hemos enviado un enlace a ${email} para elegir otra contraseña.`,
    },
    undo: {
      title: '¿Recuperar tu dirección de correo?',
      text: (email) =>
        html`La dirección de tu cuenta, ${email}, se ha cambiado por otra. Si no has sido tú, recupérala. Así se cierran todas las sesiones de la cuenta y se eliminan la contraseña, el segundo factor y los proveedores que se añadieron después del cambio.`,
      button: 'Recuperar la dirección',
    },
    undone: {
      title: 'Has recuperado tu dirección de correo',
      text: (email, app) =>
        html`La dirección de tu cuenta vuelve a ser ${email}. Ahora elige una contraseña nueva: te enviamos un enlace para ello. Si no llega ningún correo, usa «¿Has olvidado tu contraseña?» en la página de inicio de sesión de ${app}.`,
    },
    confirmed: 'Tu dirección de correo está confirmada',
    passwordSet: {
      title: 'Tu contraseña nueva está guardada',
      text: (app) => html`Ya puedes iniciar sesión en ${app} con ella. Se han cerrado todas tus sesiones.`,
    },
    signInTo: (app) => `Iniciar sesión en ${app}`,
    signInText: 'Si no lo has pedido, cierra esta página. No pasará nada.',
    code: {
      title: 'Tu código de inicio de sesión',
      text: (app, minutes) => html`Copia este código en ${app}. Funciona una sola vez, durante ${lasting(minutes)} más.`,
      label: 'Código de inicio de sesión',
      after: 'Quien lo tenga puede iniciar sesión en tu nombre. No lo compartas ni lo escribas en ningún otro sitio.',
    },
    continueTo: (app) => html`Continuar a ${app}`,
  },
  invitation: {
    title: (organization) => `Tienes una invitación para unirte a ${organization}`,
    text: (app) => html`Acéptala con tu cuenta de ${app}. Si no tienes ninguna, se creará una para ti.`,
    button: 'Aceptar la invitación',
    accepted: (organization) => `Eres miembro de ${organization}`,
    accountReady: 'Tu cuenta está lista.',
    access: {
      granted: (app) => html`Ya puedes iniciar sesión en ${app}.`,
      pending: (app) => html`Todavía no tienes acceso a ${app}. Pregunta a la persona que te ha invitado.`,
      unverified: (app) => html`Abre el enlace que has recibido por correo. Después podrás iniciar sesión en ${app}.`,
      unenrolled: (app) => html`${app} pide un segundo factor. Inicia sesión allí para configurarlo.`,
    },
    code: {
      text: (organization) =>
        html`Inicia sesión o regístrate donde ${organization} te lo ha pedido y escribe allí este código de invitación.`,
      label: 'Código de invitación',
      after: 'Si no sabes dónde es, pregunta a la persona que te ha invitado.',
    },
  },
  account,
  enrolment: {
    title: 'Configura tu aplicación de autenticación',
    scan: 'Escanea esta imagen con una aplicación de autenticación de tu teléfono.',
    picture: 'Código QR que contiene el secreto de abajo',
    secret: 'O escribe este secreto en la aplicación',
    code: 'Código que muestra la aplicación',
    button: 'Activar',
  },
  recoveryCodes: {
    title: 'Tus códigos de recuperación',
    text: 'Cada uno de estos códigos funciona una vez en lugar de un código de la aplicación. Guárdalos donde puedas encontrarlos sin tu teléfono: solo se muestran ahora.',
    label: 'Códigos de recuperación',
    button: 'Los he guardado',
  },
  passkeys: {
    title: 'Tus llaves de acceso',
    none: 'Todavía no tienes ninguna llave de acceso. Con una, inicias sesión igual que desbloqueas tu dispositivo: con la huella, la cara o un PIN.',
    added: (day) => `Añadida el ${day}.`,
    lastUsed: (day) => `Usada por última vez el ${day}.`,
    notUsed: 'Todavía no se ha usado.',
    synchronized: 'Se sincroniza entre tus dispositivos.',
    elsewhere: (host) => html`Es de ${host} y no funciona aquí.`,
    noAddress: 'Las llaves de acceso no funcionan en la dirección de este servicio.',
    rename: 'Cambiar el nombre',
    remove: (name) => `Quitar ${name}`,
    name: 'Nombre',
    add: 'Añadir una llave de acceso',
    newName: 'Nombre de la nueva llave de acceso',
    newNameValue: 'Mi dispositivo',
    newNameHint: 'Para que la reconozcas.',
    needsScript: 'Las llaves de acceso necesitan JavaScript.',
    signInAgain: 'Volver a iniciar sesión para cambiar algo',
    comeBack: 'Para cambiar algo, vuelve a iniciar sesión en una aplicación y regresa en un plazo de diez minutos.',
    noneUsed: 'No se ha usado ninguna llave de acceso. Vuelve a intentarlo o inicia sesión de otra forma.',
    noneMade: 'No se ha creado ninguna llave de acceso. Puede que este dispositivo ya tenga una para ti.',
    noApp: {
      title: 'Abre esta página desde una de tus aplicaciones',
      text: 'Aquí no has iniciado sesión y la dirección no nombra ninguna aplicación.',
    },
    refusals: {
      last: 'Es tu única forma de iniciar sesión. Primero elige una contraseña o añade otra llave de acceso.',
      known: 'Esta llave de acceso ya se usa aquí.',
      limit: 'Ya tienes todas las llaves de acceso posibles. Quita una primero.',
      tooLong: 'Ha pasado demasiado tiempo. Vuelve a intentarlo.',
      gone: 'Esta llave de acceso ya se ha quitado.',
      other: 'Esta llave de acceso no se puede usar aquí. Prueba con otro dispositivo.',
    },
  },
}
