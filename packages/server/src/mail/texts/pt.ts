import type { MailTexts } from './mail-texts.ts'

const day = 'O link funciona uma única vez, durante 24 horas.'
const hour = 'O link funciona uma única vez, durante uma hora.'
const forgot = '“Esqueceu a senha?”'
const newPassword = `escolha agora uma nova senha em ${forgot}`
const passive = 'Se você não pediu isto, ignore este e-mail. Sem ele, nada acontece.'

/** As written in Brazil, with words that are understood in Portugal too where there is a choice. Readers are addressed as você. */
export const pt: MailTexts = {
  locale: 'pt-BR',
  hello: 'Olá,',
  leadsTo: (label) => `${label}:`,
  byLink: 'Se o botão não funcionar, abra este link:',
  byCode: 'Ou digite este código na página onde você o pediu:',
  where: (place) => `Quando e onde: ${place}`,
  on: (program, system) => `${program} no ${system}`,
  from: (address) => `a partir de ${address}`,
  contact: (app, support) =>
    support === undefined ? `Avise as pessoas que administram ${app}.` : `Entre em contato com ${support}.`,
  help: (support) => `Ajuda: ${support}`,
  sentFor: (service, app) => `${service} enviou este e-mail a você em nome de ${app}.`,
  sentBy: (service) => `${service} enviou este e-mail a você.`,
  because: {
    asked: 'Você o recebeu porque alguém informou este endereço de e-mail lá.',
    changed: 'Você o recebeu porque algo mudou na sua conta.',
    askedInside: 'Você o recebeu porque alguém conectado à sua conta pediu isto.',
    tried: 'Você o recebeu porque alguém tentou entrar na sua conta.',
    signedIn: 'Você o recebe porque alguém entrou na sua conta.',
    invited: 'Você o recebeu porque alguém convidou este endereço de e-mail.',
    requested: 'Você o recebeu porque pediu acesso.',
    administers: 'Você o recebeu porque decide sobre o acesso.',
    tested: 'Você o recebeu porque um administrador testou o envio de e-mails.',
  },
  actions: {
    verify_email: {
      subject: (app) => `Confirme seu endereço de e-mail para ${app}`,
      intro: (app) => `Alguém, provavelmente você, informou este endereço de e-mail em ${app}. Confirme que ele é seu.`,
      button: 'Confirmar o endereço de e-mail',
      after: [day],
    },
    change_email: {
      subject: (app) => `Confirme seu novo endereço de e-mail para ${app}`,
      intro: (app) =>
        `Alguém, provavelmente você, quer usar este endereço de e-mail em uma conta de ${app}. Confirme que ele é seu.`,
      button: 'Usar este endereço de e-mail',
      after: [day, 'Se não foi você, não abra o link. A conta não é sua.'],
    },
    allow_email_change: {
      subject: (app) => `Permita a mudança do endereço de e-mail para ${app}`,
      intro: (app, newEmail) =>
        `Alguém que entrou na sua conta de ${app}, provavelmente você, quer mudar o endereço de e-mail dela para ${newEmail}.`,
      button: 'Permitir a mudança',
      after: [day, `Se não foi você, não abra o link e ${newPassword}. Isso encerra todas as sessões.`],
    },
    undo_email_change: {
      subject: (app) => `Seu endereço de e-mail para ${app} foi alterado`,
      intro: (app) => `O endereço de e-mail da sua conta de ${app} foi trocado por outro.`,
      button: 'Desfazer a mudança',
      after: [
        'Se foi você, não precisa fazer nada.',
        'Se não foi você, desfaça a mudança. Isso traz de volta este endereço, encerra todas as sessões da conta e remove a senha, o segundo fator e os provedores adicionados depois da mudança.',
        'O link funciona uma única vez, durante 72 horas. Depois, escolha uma nova senha com o e-mail que você vai receber.',
      ],
    },
    delete_account: {
      subject: (app) => `Exclua sua conta de ${app}`,
      intro: (app) => `Alguém que entrou na sua conta de ${app}, provavelmente você, quer excluí-la.`,
      button: 'Excluir a conta',
      after: [hour, `Se não foi você, não abra o link e ${newPassword}. Isso encerra todas as sessões.`],
    },
    reset_password: {
      subject: (app) => `Escolha uma nova senha para ${app}`,
      intro: (app) => `Alguém, provavelmente você, pediu uma nova senha para ${app}.`,
      button: 'Escolher uma nova senha',
      after: [`${hour} Sua senha atual continua valendo até você escolher uma nova.`, passive],
    },
    magic_link: {
      subject: (app) => `Entre em ${app}`,
      intro: (app) => `Alguém, provavelmente você, quer entrar em ${app} com este endereço de e-mail.`,
      button: 'Entrar',
      after: [
        'O link funciona uma única vez, durante 15 minutos. Quem o tiver pode entrar em seu nome. Não o compartilhe.',
        passive,
      ],
      afterWithCode: [
        'O link funciona uma única vez, durante 15 minutos, e o código durante 10. Quem tiver um dos dois pode entrar em seu nome. Não os compartilhe.',
        passive,
      ],
    },
    new_sign_in: {
      subject: (app) => `Novo acesso a ${app}`,
      intro: (app) => `Alguém entrou em ${app} com a sua conta, em um navegador que ainda não tinha sido usado.`,
      button: 'Não fui eu',
      after: [
        'Se foi você, não precisa fazer nada.',
        'Se não foi você, abra o link. Uma página pergunta se você quer encerrar todas as sessões da sua conta e receber um link para escolher outra senha. O link funciona uma única vez, durante 72 horas.',
      ],
    },
  },
  disown: {
    text: 'Se não foi você, abra este outro link. Ele exclui a conta, a menos que alguém já a tenha confirmado com a senha dela.',
    label: 'Não fui eu',
  },
  invitation: {
    subject: (app) => `Você recebeu um convite de uma organização em ${app}`,
    intro: (organization, app) => `Você recebeu um convite para se tornar membro da organização ${organization} em ${app}.`,
    button: 'Aceitar o convite',
    until: (time) => `O link funciona uma única vez, até ${time}.`,
    after: 'Se você não sabe quem está convidando, ignore este e-mail.',
  },
  accessRequested: {
    subject: (app) => `Alguém pede acesso ao aplicativo ${app}`,
    intro: (app, user) => `Foi pedido acesso ao aplicativo ${app} para ${user}.`,
    decide: 'Para aprovar ou recusar o pedido:',
  },
  accessApproved: {
    subject: (app) => `Agora você tem acesso ao aplicativo ${app}`,
    text: (app) => `Agora você tem acesso ao aplicativo ${app}. Entre como de costume.`,
  },
  accessDenied: {
    subject: (app) => `Seu pedido de acesso ao aplicativo ${app} foi recusado`,
    text: (app) => `Seu pedido de acesso ao aplicativo ${app} foi recusado.`,
    reason: (reason) => `Motivo informado pelo administrador: ${reason}`,
  },
  test: {
    subject: (app) => `E-mail de teste para ${app}`,
    text: 'Os e-mails chegam a você, e esta é a aparência deles. Não é preciso fazer nada.',
  },
  advice: `Se não foi você, ${newPassword}.`,
  notices: {
    password_changed: {
      subject: (app) => `Sua senha de ${app} foi alterada`,
      text: () => 'A senha da sua conta foi alterada.',
    },
    password_reset: {
      subject: (app) => `Sua senha de ${app} foi redefinida`,
      text: () =>
        'A senha da sua conta foi redefinida com um e-mail enviado a este endereço. Todas as sessões da conta foram encerradas.',
    },
    two_factor_activated: {
      subject: (app) => `Autenticação de dois fatores ativada para ${app}`,
      text: () => 'A autenticação de dois fatores foi ativada na sua conta.',
    },
    two_factor_disabled: {
      subject: (app) => `Autenticação de dois fatores desativada para ${app}`,
      text: () => 'A autenticação de dois fatores foi desativada na sua conta.',
    },
    two_factor_removed: {
      subject: (app) => `Autenticação de dois fatores desativada para ${app}`,
      text: () => 'Um administrador desativou a autenticação de dois fatores da sua conta.',
    },
    two_factor_locked: {
      subject: (app) => `Códigos de dois fatores incorretos na sua conta de ${app}`,
      text: () =>
        'Alguém passou pelo seu primeiro fator, por exemplo a senha, e depois enviou códigos de dois fatores incorretos demais. Os códigos da sua conta serão recusados por algum tempo, e por mais tempo a cada vez que isso acontecer.',
      advice: `Se não foi você, ${newPassword}. Se os códigos continuarem sendo recusados, peça o desbloqueio da sua conta.`,
    },
    recovery_codes_renewed: {
      subject: (app) => `Novos códigos de recuperação para ${app}`,
      text: () => 'A sua conta recebeu novos códigos de recuperação. Os antigos não funcionam mais.',
    },
    credentials_removed: {
      subject: (app) => `Seu endereço de e-mail para ${app} foi confirmado`,
      text: () =>
        'Seu endereço de e-mail foi confirmado na primeira vez que alguém entrou com ele. A conta tinha sido criada antes que alguém provasse ser dono do endereço. Por isso, foram removidos a senha, o segundo fator, os provedores vinculados, os nomes, a participação em organizações e as sessões.',
      advice: `Para voltar a entrar com uma senha, escolha uma nova em ${forgot}.`,
    },
    email_change_requested: {
      subject: (app) => `Outro endereço de e-mail foi pedido para ${app}`,
      text: () =>
        'Alguém que sabe a senha da sua conta pediu a mudança do endereço de e-mail dela. Nada muda até que o novo endereço seja confirmado. Então você receberá aqui outro e-mail, com um link que desfaz a mudança.',
      advice: `Se não foi você, ${newPassword}. Isso também descarta a mudança.`,
    },
    identity_linked: {
      subject: (app) => `Uma forma de entrar em ${app} foi adicionada`,
      text: (provider) =>
        `O provedor ${provider} foi adicionado às formas de entrar na sua conta. Quem entrar nele com a conta que foi usada para isso entra na sua conta.`,
      advice: `Se não foi você, ${newPassword}: isso encerra todas as sessões. Depois, remova da sua conta esta forma de entrar.`,
    },
    identity_unlinked: {
      subject: (app) => `Uma forma de entrar em ${app} foi removida`,
      text: (provider) => `O provedor ${provider} foi removido das formas de entrar na sua conta.`,
    },
    identity_removed: {
      subject: (app) => `Uma forma de entrar em ${app} foi removida`,
      text: (provider) => `Um administrador removeu o provedor ${provider} das formas de entrar na sua conta.`,
    },
    passkey_added: {
      subject: (app) => `Uma chave de acesso foi adicionada à sua conta de ${app}`,
      text: () =>
        'Uma chave de acesso foi adicionada às formas de entrar na sua conta. Quem puder desbloquear o dispositivo que a guarda entra na sua conta.',
      advice: `Se não foi você, ${newPassword}: isso encerra todas as sessões. Depois, remova a chave de acesso na página da sua conta.`,
    },
    passkey_removed: {
      subject: (app) => `Uma chave de acesso foi removida da sua conta de ${app}`,
      text: () => 'Uma chave de acesso foi removida das formas de entrar na sua conta. Ela não serve mais para entrar.',
    },
    account_deleted: {
      subject: (app) => `Sua conta de ${app} foi excluída`,
      text: () => 'Sua conta foi excluída, como pedido em uma das sessões dela. Todas as sessões dela foram encerradas.',
      advice: 'Se não foi você, peça ajuda agora.',
    },
  },
}
