import type { MailTexts } from './mail-texts.ts'

const day = 'El enlace funciona una sola vez, durante 24 horas.'
const hour = 'El enlace funciona una sola vez, durante una hora.'
const forgot = '«¿Has olvidado tu contraseña?»'
const newPassword = `elige ahora una contraseña nueva con ${forgot}`
const passive = 'Si no lo has pedido tú, ignora este correo. Sin él no ocurre nada.'

/** Readers are addressed as tú, with words that are understood in Spain and in America. */
export const es: MailTexts = {
  locale: 'es-ES',
  hello: 'Hola:',
  leadsTo: (label) => `${label}:`,
  byLink: 'Si el botón no funciona, abre este enlace:',
  byCode: 'O escribe este código en la página donde lo has pedido:',
  where: (place) => `Cuándo y dónde: ${place}`,
  on: (program, system) => `${program} en ${system}`,
  from: (address) => `desde ${address}`,
  contact: (app, support) =>
    support === undefined ? `Avisa a las personas que administran ${app}.` : `Contacta con ${support}.`,
  help: (support) => `Ayuda: ${support}`,
  sentFor: (service, app) => `${service} te ha enviado este correo en nombre de ${app}.`,
  sentBy: (service) => `${service} te ha enviado este correo.`,
  because: {
    asked: 'Lo recibes porque alguien ha indicado allí esta dirección de correo.',
    changed: 'Lo recibes porque algo ha cambiado en tu cuenta.',
    askedInside: 'Lo recibes porque alguien que ha iniciado sesión en tu cuenta lo ha pedido.',
    tried: 'Lo recibes porque alguien ha intentado iniciar sesión en tu cuenta.',
    signedIn: 'Lo recibes porque alguien ha iniciado sesión en tu cuenta.',
    invited: 'Lo recibes porque alguien ha invitado a esta dirección de correo.',
    requested: 'Lo recibes porque has pedido acceso.',
    administers: 'Lo recibes porque tú decides sobre el acceso.',
    tested: 'Lo recibes porque un administrador ha probado el envío de correo.',
  },
  actions: {
    verify_email: {
      subject: (app) => `Confirma tu dirección de correo para ${app}`,
      intro: (app) => `Alguien, probablemente tú, ha indicado esta dirección de correo en ${app}. Confirma que es tuya.`,
      button: 'Confirmar la dirección de correo',
      after: [day],
    },
    change_email: {
      subject: (app) => `Confirma tu nueva dirección de correo para ${app}`,
      intro: (app) =>
        `Alguien, probablemente tú, quiere usar esta dirección de correo para una cuenta de ${app}. Confirma que es tuya.`,
      button: 'Usar esta dirección de correo',
      after: [day, 'Si no has sido tú, no abras el enlace. La cuenta no es tuya.'],
    },
    allow_email_change: {
      subject: (app) => `Permite el cambio de dirección de correo para ${app}`,
      intro: (app, newEmail) =>
        `Alguien que tiene la sesión iniciada en tu cuenta de ${app}, probablemente tú, quiere cambiar su dirección de correo a ${newEmail}.`,
      button: 'Permitir el cambio',
      after: [day, `Si no has sido tú, no abras el enlace y ${newPassword}. Así se cierran todas las sesiones.`],
    },
    undo_email_change: {
      subject: (app) => `Se ha cambiado tu dirección de correo para ${app}`,
      intro: (app) => `La dirección de correo de tu cuenta de ${app} se ha cambiado por otra.`,
      button: 'Deshacer el cambio',
      after: [
        'Si has sido tú, no tienes que hacer nada.',
        'Si no has sido tú, deshaz el cambio. Así se recupera esta dirección, se cierran todas las sesiones de la cuenta y se eliminan la contraseña, el segundo factor y los proveedores que se añadieron después del cambio.',
        'El enlace funciona una sola vez, durante 72 horas. Después, elige una contraseña nueva con el correo que recibirás.',
      ],
    },
    delete_account: {
      subject: (app) => `Elimina tu cuenta de ${app}`,
      intro: (app) => `Alguien que tiene la sesión iniciada en tu cuenta de ${app}, probablemente tú, quiere eliminarla.`,
      button: 'Eliminar la cuenta',
      after: [hour, `Si no has sido tú, no abras el enlace y ${newPassword}. Así se cierran todas las sesiones.`],
    },
    reset_password: {
      subject: (app) => `Elige una contraseña nueva para ${app}`,
      intro: (app) => `Alguien, probablemente tú, ha pedido una contraseña nueva para ${app}.`,
      button: 'Elegir una contraseña nueva',
      after: [`${hour} Tu contraseña actual sirve hasta que elijas una nueva.`, passive],
    },
    magic_link: {
      subject: (app) => `Inicia sesión en ${app}`,
      intro: (app) => `Alguien, probablemente tú, quiere iniciar sesión en ${app} con esta dirección de correo.`,
      button: 'Iniciar sesión',
      after: [
        'El enlace funciona una sola vez, durante 15 minutos. Quien lo tenga puede iniciar sesión en tu nombre. No lo compartas.',
        passive,
      ],
      afterWithCode: [
        'El enlace funciona una sola vez, durante 15 minutos, y el código durante 10. Quien tenga uno de los dos puede iniciar sesión en tu nombre. No los compartas.',
        passive,
      ],
    },
    new_sign_in: {
      subject: (app) => `Nuevo inicio de sesión en ${app}`,
      intro: (app) => `Alguien ha iniciado sesión en ${app} con tu cuenta, desde un navegador que no se había usado antes.`,
      button: 'No he sido yo',
      after: [
        'Si has sido tú, no tienes que hacer nada.',
        'Si no has sido tú, abre el enlace. Una página te pregunta si quieres cerrar todas las sesiones de tu cuenta y recibir un enlace para elegir otra contraseña. El enlace funciona una sola vez, durante 72 horas.',
      ],
    },
  },
  disown: {
    text: 'Si no has sido tú, abre este otro enlace. Elimina la cuenta, salvo que alguien ya la haya confirmado con su contraseña.',
    label: 'No he sido yo',
  },
  invitation: {
    subject: (app) => `Tienes una invitación a una organización en ${app}`,
    intro: (organization, app) => `Tienes una invitación para unirte a ${organization} en ${app}.`,
    button: 'Aceptar la invitación',
    until: (time) => `El enlace funciona una sola vez, hasta el ${time}.`,
    after: 'Si no sabes quién te invita, ignora este correo.',
  },
  accessRequested: {
    subject: (app) => `Alguien pide acceso a ${app}`,
    intro: (app, user) => `Se ha pedido acceso a ${app} para ${user}.`,
    decide: 'Para aprobar o rechazar la solicitud:',
  },
  accessApproved: {
    subject: (app) => `Ya tienes acceso a ${app}`,
    text: (app) => `Ya tienes acceso a ${app}. Inicia sesión como siempre.`,
  },
  accessDenied: {
    subject: (app) => `Se ha rechazado tu solicitud de acceso a ${app}`,
    text: (app) => `Se ha rechazado tu solicitud de acceso a ${app}.`,
    reason: (reason) => `Motivo del administrador: ${reason}`,
  },
  test: {
    subject: (app) => `Correo de prueba de ${app}`,
    text: 'El correo te llega, y este es su aspecto. No tienes que hacer nada.',
  },
  advice: `Si no has sido tú, ${newPassword}.`,
  notices: {
    password_changed: {
      subject: (app) => `Se ha cambiado tu contraseña de ${app}`,
      text: () => 'Se ha cambiado la contraseña de tu cuenta.',
    },
    password_reset: {
      subject: (app) => `Se ha restablecido tu contraseña de ${app}`,
      text: () =>
        'Se ha restablecido la contraseña de tu cuenta con un correo enviado a esta dirección. Se han cerrado todas las sesiones de la cuenta.',
    },
    two_factor_activated: {
      subject: (app) => `Autenticación de dos factores activada para ${app}`,
      text: () => 'Se ha activado la autenticación de dos factores en tu cuenta.',
    },
    two_factor_disabled: {
      subject: (app) => `Autenticación de dos factores desactivada para ${app}`,
      text: () => 'Se ha desactivado la autenticación de dos factores en tu cuenta.',
    },
    two_factor_removed: {
      subject: (app) => `Autenticación de dos factores desactivada para ${app}`,
      text: () => 'Un administrador ha desactivado la autenticación de dos factores en tu cuenta.',
    },
    two_factor_locked: {
      subject: (app) => `Códigos de dos factores incorrectos en tu cuenta de ${app}`,
      text: () =>
        'Alguien ha superado tu primer factor, por ejemplo la contraseña, y después ha enviado demasiados códigos de dos factores incorrectos. Los códigos de tu cuenta se rechazan durante un tiempo, y más tiempo cada vez que esto se repite.',
      advice: `Si no has sido tú, ${newPassword}. Si los códigos se siguen rechazando, pide que desbloqueen tu cuenta.`,
    },
    recovery_codes_renewed: {
      subject: (app) => `Códigos de recuperación nuevos para ${app}`,
      text: () => 'Tu cuenta tiene códigos de recuperación nuevos. Los anteriores ya no sirven.',
    },
    credentials_removed: {
      subject: (app) => `Se ha confirmado tu dirección de correo para ${app}`,
      text: () =>
        'Tu dirección de correo se ha confirmado con el primer inicio de sesión. La cuenta se había creado antes de que nadie demostrara que la dirección era suya, así que se han eliminado su contraseña, su segundo factor, sus proveedores vinculados, sus nombres, su pertenencia a organizaciones y sus sesiones.',
      advice: `Para volver a iniciar sesión con una contraseña, elige una nueva con ${forgot}.`,
    },
    email_change_requested: {
      subject: (app) => `Se ha pedido otra dirección de correo para ${app}`,
      text: () =>
        'Alguien que sabe la contraseña de tu cuenta ha pedido cambiar su dirección de correo. Nada cambia hasta que se confirme la dirección nueva. Entonces recibirás aquí otro correo, con un enlace que deshace el cambio.',
      advice: `Si no has sido tú, ${newPassword}. Así también se descarta el cambio.`,
    },
    identity_linked: {
      subject: (app) => `Se ha añadido una forma de iniciar sesión en ${app}`,
      text: (provider) =>
        `El proveedor ${provider} se ha añadido a las formas de iniciar sesión en tu cuenta. Quien inicie sesión allí con la cuenta que se usó para esto entra en tu cuenta.`,
      advice: `Si no has sido tú, ${newPassword}: así se cierran todas las sesiones. Después, elimina de tu cuenta esta forma de iniciar sesión.`,
    },
    identity_unlinked: {
      subject: (app) => `Se ha eliminado una forma de iniciar sesión en ${app}`,
      text: (provider) => `El proveedor ${provider} se ha eliminado de las formas de iniciar sesión en tu cuenta.`,
    },
    identity_removed: {
      subject: (app) => `Se ha eliminado una forma de iniciar sesión en ${app}`,
      text: (provider) => `Un administrador ha eliminado el proveedor ${provider} de las formas de iniciar sesión en tu cuenta.`,
    },
    passkey_added: {
      subject: (app) => `Se ha añadido una llave de acceso a tu cuenta de ${app}`,
      text: () =>
        'Se ha añadido una llave de acceso a las formas de iniciar sesión en tu cuenta. Quien pueda desbloquear el dispositivo que la guarda entra en tu cuenta.',
      advice: `Si no has sido tú, ${newPassword}: así se cierran todas las sesiones. Después, elimina la llave de acceso en la página de tu cuenta.`,
    },
    passkey_removed: {
      subject: (app) => `Se ha eliminado una llave de acceso de tu cuenta de ${app}`,
      text: () => 'Se ha eliminado una llave de acceso de las formas de iniciar sesión en tu cuenta. Ya no sirve para entrar.',
    },
    account_deleted: {
      subject: (app) => `Se ha eliminado tu cuenta de ${app}`,
      text: () => 'Se ha eliminado tu cuenta, como se pidió desde una de sus sesiones. Se han cerrado todas sus sesiones.',
      advice: 'Si no has sido tú, pide ayuda ahora.',
    },
  },
}
