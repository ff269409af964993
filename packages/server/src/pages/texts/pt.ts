import { html } from '../../lib/html.ts'
import { pt as account } from './account/pt.ts'
import { deviceTexts } from './device-texts.ts'
import { minutesIn } from './minutes.ts'
import type { PageTexts } from './page-texts.ts'

const { lasting, ahead } = minutesIn('pt-BR')
const nothingMore = 'Não há mais nada a fazer aqui.'
const cannotWork = 'Não é possível entrar por aqui'
const memorable = 'Várias palavras sem relação entre si são fáceis de lembrar.'

/** The Portuguese of Brazil. Readers are addressed as você. */
export const pt: PageTexts = {
  language: 'pt',
  locale: 'pt-BR',
  footer: { help: 'Ajuda', terms: 'Termos de uso', privacy: 'Privacidade' },
  optional: '(opcional)',
  fields: {
    email: 'Endereço de e-mail',
    password: 'Senha',
    newPassword: 'Nova senha',
    newPasswordAgain: 'Repita a nova senha',
    account: 'Conta',
    firstName: 'Nome',
    lastName: 'Sobrenome',
    twoFactorCode: 'Código do segundo fator',
    mailCode: 'Código do e-mail',
  },
  hints: {
    twoFactorCode: 'Do seu aplicativo autenticador ou um dos seus códigos de recuperação.',
    mailCode: 'Seis dígitos.',
    newPassword: (least) => `Pelo menos ${least} caracteres. ${memorable}`,
    passwordOf: (app) => `A senha da sua conta de ${app}.`,
    passwordOrNew: (app, least) =>
      `A senha que você usa em ${app}. Se ainda não tem uma conta, escolha uma de pelo menos ${least} caracteres.`,
  },
  faults: {
    required: (label) => `${label}: preencha este campo`,
    no_email: () => 'Digite um endereço de e-mail válido',
    too_short: (_, least) => `A senha precisa ter pelo menos ${least} caracteres`,
    too_long: (label, most) => `${label}: no máximo ${most} caracteres`,
    too_many_bytes: () => 'A senha é longa demais',
    too_common: () => 'Esta senha é uma das mais comuns. Escolha outra',
    is_email: () => 'A senha não pode ser o endereço de e-mail',
    no_match: () => 'As duas senhas não são iguais',
    wrong: () => 'O código está errado',
    wrong_or_used: () => 'O código está errado ou já foi usado',
    wrong_for_account: () =>
      'A senha está errada: já existe uma conta com este endereço. Se você não sabe a senha dela, escolha uma nova com “Esqueceu a senha?” na página de entrada',
    invalid: (label) => `${label}: o valor não é válido`,
  },
  refusals: {
    twoFactorRequired: 'Esta conta tem um segundo fator. Digite a senha de novo, junto com o código.',
    enrol: (app) =>
      `${app} pede um segundo fator, e esta conta não tem nenhum. Entre em ${app} para configurar um. Depois, abra este link de novo.`,
    passkeyOnly: (app) =>
      `${app} pede a chave de acesso desta conta, e esta página não pode pedi-la. Entre em ${app} com ela e digite lá o convite.`,
    anotherTwoFactorCode: 'Digite a senha de novo, junto com outro código.',
    locked: (minutes) => `Esta conta está bloqueada após muitas tentativas sem sucesso. Tente de novo ${ahead(minutes)}.`,
    limited: (minutes) => `Tentativas demais. Tente de novo ${ahead(minutes)}.`,
    suspended: (app) => `Esta conta está suspensa. Pergunte aos responsáveis por ${app} o que você pode fazer.`,
    noAccess: (app) => `Esta conta não tem acesso a ${app}. Peça o acesso a quem convidou você.`,
    domain: (app) => `${app} não aceita endereços deste domínio.`,
    wrongCredentials: 'O endereço de e-mail ou a senha está errado.',
    passkey: 'Esta chave de acesso não funciona aqui. Entre de outra forma.',
    userExists: 'Já existe uma conta com este endereço de e-mail. Entre nela ou escolha uma nova senha.',
    invitation: 'O convite não vale mais ou é para outro endereço de e-mail.',
    linkRequired: 'Já existe uma conta com este endereço de e-mail. Entre nela com a senha.',
    wayClosed: 'Esta forma de entrar não está disponível aqui. Escolha outra.',
    noEmailOfProvider: 'O provedor não informou o seu endereço de e-mail. Entre de outra forma.',
    signUpClosed: (app) => `${app} não aceita novas contas.`,
    tooLong: 'Demorou demais. Entre de novo.',
    unverified: 'Confirme primeiro o seu endereço de e-mail com o link que você recebeu.',
    other: 'Isso não é possível aqui.',
  },
  providers: {
    continueWith: (provider) => `Continuar com ${provider}`,
    or: 'ou',
    denied: 'O provedor não autorizou a sua entrada.',
    unreachable: 'Não é possível contatar o provedor no momento. Entre de outra forma ou tente de novo mais tarde.',
    tooOld: 'O provedor não pediu que você entrasse de novo. Entre de outra forma.',
    broken: 'A resposta do provedor não pode ser usada. Entre de outra forma.',
  },
  signIn: {
    title: 'Entrar',
    button: 'Entrar',
    keep: 'Manter-me conectado',
    trust: (days) =>
      days === 1 ? 'Não perguntar de novo neste navegador por um dia' : `Não perguntar de novo neste navegador por ${days} dias`,
    mailCode: 'Receber um código por e-mail',
    forgot: 'Esqueceu a senha?',
    create: 'Criar uma conta',
    passkey: 'Usar uma chave de acesso',
    anotherWay: 'Entrar de outra forma',
    anotherAccount: 'Usar outra conta',
    back: 'Voltar',
    continue: 'Continuar',
    invitedTo: (organization) => html`Você recebeu um convite de ${organization}.`,
    signedInAs: (email) => html`Você entrou como ${email}.`,
    signingInAs: (email) => html`Entrando como ${email}.`,
    leadsTo: (host) => html`A seguir, você vai para ${host}.`,
  },
  secondFactor: {
    title: 'Digite o seu código',
    passkey: 'Use a sua chave de acesso',
    why: (app) => html`${app} pede um segundo fator.`,
    missing: { title: 'Você precisa de um segundo fator', text: 'A sua conta ainda não tem nenhum.' },
  },
  create: { title: 'Crie a sua conta', button: 'Criar a conta', instead: 'Já tenho uma conta' },
  named: {
    noAccount: (email, app) => html`Ainda não existe uma conta de ${app} para ${email}.`,
    signedInAs: (email) => html`Você entrou como ${email}. Essa sessão será encerrada neste navegador.`,
    continueAs: (email) => `Continuar como ${email}`,
  },
  join: {
    title: (organization) => `Participar de ${organization}`,
    text: (organization, app, host) =>
      html`Você recebeu um convite para se tornar membro de ${organization}. Depois, você vai para ${app}, em ${host}.`,
    button: 'Participar',
  },
  organization: { title: 'Escolha uma organização', legend: 'Entrar por', none: 'Nenhuma organização' },
  continueTo: (app) => `Continuar para ${app}`,
  askMail: {
    reset: {
      title: 'Esqueceu a senha?',
      text: 'Enviamos por e-mail um código com o qual você pode escolher uma nova senha.',
    },
    signIn: { title: 'Entrar por e-mail', text: 'Enviamos por e-mail um código com o qual você pode entrar.' },
    button: 'Enviar o código',
  },
  mail: {
    title: 'Veja o seu e-mail',
    onItsWay: (email) => html`Um e-mail com um código está a caminho de ${email}.`,
    ifThereIs: (email) => html`Se existir uma conta para ${email}, um e-mail com um código está a caminho.`,
    opened: (email) => html`Você abriu o link que foi enviado a ${email}.`,
    again: 'Enviar de novo',
    setPassword: 'Salvar a nova senha',
    confirm: 'Confirmar',
    confirmTitle: 'Confirme o seu endereço de e-mail',
    newPasswordTitle: 'Escolha uma nova senha',
  },
  verify: {
    title: 'Confirme o seu endereço de e-mail',
    button: 'Enviar um código',
    why: (app) => html`${app} exige um endereço de e-mail confirmado.`,
    toAsk: 'Você vai poder pedir o acesso quando o seu endereço estiver confirmado.',
  },
  refused: {
    unknownHere: {
      title: 'Esta conta não é conhecida aqui',
      text: (app) => html`${app} não conhece esta conta. Se você tem outra, use-a.`,
    },
    noAccess: {
      title: 'Você ainda não tem acesso',
      text: (app) => html`Você ainda não tem acesso a ${app}. Um administrador pode liberar o acesso.`,
      ask: 'Pedir acesso',
      asked: 'Você pediu acesso. Você vai receber um e-mail quando um administrador decidir.',
    },
    noMember: {
      title: 'Você não é membro desta organização',
      text: 'Peça a um administrador da organização que convide você.',
    },
    suspended: {
      title: 'A sua conta está suspensa',
      text: (app) => html`Pergunte aos responsáveis por ${app} o que você pode fazer.`,
    },
    appInactive: {
      title: 'Este aplicativo está desativado',
      text: (app) => html`Ninguém pode entrar em ${app} no momento. Tente de novo mais tarde.`,
    },
    other: { title: 'Você não pode entrar neste aplicativo', text: (app) => html`Você não pode entrar em ${app}.` },
  },
  device: deviceTexts.pt,
  signOut: {
    title: 'Sair',
    text: 'Sair deste navegador e dos aplicativos que você abriu a partir dele?',
    button: 'Sair',
    done: {
      title: 'Você saiu',
      text: 'Você saiu deste navegador e dos aplicativos que tinha aberto a partir dele.',
    },
  },
  goTo: (app) => html`Ir para ${app}`,
  requestFaults: {
    unknownApp: {
      title: 'Este aplicativo não é conhecido aqui',
      text: html`Nenhum aplicativo tem o <code>client_id</code> deste link.`,
    },
    inactiveApp: {
      title: 'Este aplicativo está desativado',
      text: 'Ninguém pode entrar nele no momento. Tente de novo mais tarde.',
    },
    title: cannotWork,
    redirectMissing: html`Falta <code>redirect_uri</code> no link.`,
    redirectUnknown: html`O valor de <code>redirect_uri</code> deste link não é um dos endereços de retorno do aplicativo.`,
    redirectPrefixesOnly: html`Todos os endereços de retorno do aplicativo terminam em <code>*</code>. Um administrador precisa adicionar o endereço exato.`,
    goBack: 'Volte ao aplicativo e, se isso se repetir, avise quem o desenvolve.',
  },
  codeElsewhere: {
    title: 'Digite o código onde você o pediu',
    text: 'O e-mail tem um código de seis dígitos. Digite-o na página em que você pediu o e-mail. Neste navegador, você não vai entrar.',
  },
  elsewhere: {
    title: 'Volte para onde você começou',
    text: 'Esta entrada começou em outro navegador. Continue nele ou comece de novo pelo aplicativo.',
  },
  tooOld: {
    title: 'Esta página é antiga demais',
    text: 'A página ficou aberta por tempo demais ou o seu navegador não guarda cookies.',
    startAgain: 'Começar de novo',
    goBack: 'Volte ao aplicativo e entre de novo.',
  },
  foreignForm: {
    title: 'Este formulário não é nosso',
    text: 'Outro site enviou este formulário, por isso ele não foi lido. Volte ao aplicativo e entre a partir dele.',
  },
  deadLink: {
    title: 'Este link não funciona',
    text: 'Talvez ele já tenha sido usado, seja antigo demais ou tenha sido substituído por um mais novo.',
    advice: {
      '/verify-email':
        'Se você já confirmou o seu endereço, está tudo certo. Se não, peça outro e-mail onde você se cadastrou e abra o link dele.',
      '/disown-email': 'Se você já respondeu a este e-mail ou pediu um mais novo, não há nada a fazer aqui.',
      '/confirm-email':
        'Se você já confirmou o endereço, está tudo certo. Se não, peça a mudança de novo onde você entrou na sua conta.',
      '/undo-email-change': 'Se você já desfez a mudança, está tudo certo. Se não, fale com os responsáveis por este serviço.',
      '/delete-account': 'Se você já excluiu a conta, está tudo certo. Se não, peça de novo onde você entrou na sua conta.',
      '/secure-account':
        'Se você já encerrou as sessões, está tudo certo. Se não, escolha outra senha com “Esqueceu a senha?” onde você entra.',
      '/reset-password': 'Se você ainda precisa de uma nova senha, peça outro e-mail com “Esqueceu a senha?” e abra o link dele.',
      '/magic-link': 'Para entrar, peça outro e-mail onde você quer entrar e abra o link dele em até 15 minutos.',
      '/accept-invitation': 'Se você já aceitou o convite, está tudo certo. Se não, peça outro a quem convidou você.',
      '/oauth/mail': 'Peça outro e-mail onde você queria entrar.',
    },
  },
  unreadableForm: { title: 'Não é possível ler este formulário', text: 'Abra de novo o link do e-mail.' },
  errors: {
    tooMany: 'Solicitações demais',
    unavailable: 'O serviço não está disponível no momento',
    internal: 'Algo deu errado do nosso lado',
    locked: 'A conta está bloqueada após muitas tentativas sem sucesso',
    wait: 'Espere um pouco, volte e tente de novo.',
    goBack: 'Volte e tente de novo.',
    startAgain: 'Comece a entrada de novo.',
    other: 'Não funcionou',
    help: (requestId) => `Se isso se repetir, informe aos responsáveis por este serviço o número desta solicitação: ${requestId}`,
  },
  apiErrors: {
    invalid_sso_state: 'Esta entrada por um provedor não é conhecida, expirou ou já foi respondida',
    auth_method_not_allowed: 'Este aplicativo não permite esta forma de entrar',
    sso_provider_disabled: 'O provedor está desativado',
    app_inactive: 'O aplicativo está desativado',
  },
  welcome: {
    title: 'Aqui você entra nos seus aplicativos',
    what: 'Este serviço guarda a sua conta e conecta você aos aplicativos da sua organização. Não há nada a fazer nesta página.',
    how: 'Para entrar, abra o aplicativo que você quer usar. Ele traz você até aqui e depois você volta para ele já conectado. Se um e-mail deste serviço trouxe você aqui, abra o link desse e-mail.',
    developers: (reference) => html`Para desenvolvedores: ${reference}`,
    reference: 'a referência da API',
  },
  links: {
    confirm: {
      title: 'Confirme o seu endereço de e-mail',
      text: (email) => html`${email} é o seu endereço?`,
      button: 'Sim, confirmar',
    },
    notMine: {
      text: 'Se você não escolheu uma senha, outra pessoa informou o seu endereço. Escolha uma senha sua: isso anula o que essa pessoa configurou. Se depois, ao entrar, for pedido um código que você não configurou, use um link de entrada por e-mail.',
      button: 'Não conheço esta senha',
    },
    allowChange: {
      title: 'Mudar o seu endereço de e-mail?',
      text: (email, newEmail) =>
        html`Alguém que entrou na sua conta quer mudar o endereço dela de ${email} para ${newEmail}. Se não foi você, feche esta página e escolha uma senha com “Esqueceu a senha?” na página de entrada.`,
      button: 'Permitir a mudança',
    },
    confirmNew: (email) => html`${email} é o novo endereço da sua conta? Se você não pediu isso, feche esta página.`,
    newAddressCode: {
      text: (email, app) =>
        html`Para que ${email} seja o endereço da sua conta, copie este código em ${app}, onde você já entrou.`,
      label: 'Código de confirmação',
      after: 'Se você não pediu isso, feche esta página.',
    },
    changeAllowed: {
      title: 'Veja a nova caixa de entrada',
      text: (newEmail) => html`Estamos enviando um link para ${newEmail}. O seu endereço muda quando você o confirmar por lá.`,
    },
    delete: {
      title: 'Excluir a sua conta?',
      text: (email) =>
        html`A conta ${email} será excluída em todos os aplicativos em que ela pode entrar. Não é possível desfazer.`,
      button: 'Excluir a conta',
    },
    deleted: 'A sua conta foi excluída',
    nothingMore,
    resetMailed: {
      title: 'Veja a sua caixa de entrada',
      text: (email) =>
        html`Estamos enviando um link para ${email}. Abra-o para escolher uma nova senha. Se nenhum e-mail chegar, você já recebeu vários nos últimos minutos: tente de novo mais tarde.`,
    },
    disown: {
      title: 'Não foi você?',
      text: (email, app) => html`Alguém informou ${email} em ${app}. Se não foi você, exclua a conta que foi criada com ele.`,
      button: 'Não fui eu: excluir a conta',
    },
    disowned: {
      title: 'Obrigado',
      text: `A conta foi excluída, a menos que alguém já a tenha confirmado com a senha dela. ${nothingMore}`,
    },
    secure: {
      title: 'Não foi você?',
      text: (email) =>
        html`Isso encerra todas as sessões da conta de ${email}, em todos os aplicativos e navegadores, e a senha deixa de valer. Enviamos um link para você escolher outra.`,
      button: 'Encerrar todas as sessões',
    },
    secured: {
      title: 'Todas as sessões foram encerradas',
      text: (email) => html`Enviamos um link para ${email} para você escolher outra senha.`,
    },
    undo: {
      title: 'Recuperar o seu endereço de e-mail?',
      text: (email) =>
        html`O endereço da sua conta, ${email}, foi trocado por outro. Se não foi você, recupere-o. Isso encerra todas as sessões da conta e remove a senha, o segundo fator e os provedores adicionados depois da mudança.`,
      button: 'Recuperar o endereço',
    },
    undone: {
      title: 'O seu endereço de e-mail voltou',
      text: (email, app) =>
        html`O endereço da sua conta voltou a ser ${email}. Agora escolha uma nova senha: estamos enviando um link para isso. Se nenhum e-mail chegar, use “Esqueceu a senha?” na página de entrada de ${app}.`,
    },
    confirmed: 'O seu endereço de e-mail está confirmado',
    passwordSet: {
      title: 'A sua nova senha está salva',
      text: (app) => html`Você já pode entrar em ${app} com ela. Todas as suas sessões foram encerradas.`,
    },
    signInTo: (app) => `Entrar em ${app}`,
    signInText: 'Se você não pediu isso, feche esta página. Nada vai acontecer.',
    code: {
      title: 'O seu código de entrada',
      text: (app, minutes) => html`Copie este código em ${app}. Ele funciona uma única vez, por mais ${lasting(minutes)}.`,
      label: 'Código de entrada',
      after: 'Quem tiver este código pode entrar em seu nome. Não o compartilhe e não o digite em nenhum outro lugar.',
    },
    continueTo: (app) => html`Continuar para ${app}`,
  },
  invitation: {
    title: (organization) => `Você recebeu um convite de ${organization}`,
    text: (app) => html`Aceite com a sua conta de ${app}. Se você não tiver uma, ela será criada para você.`,
    button: 'Aceitar o convite',
    accepted: (organization) => `Você é membro de ${organization}`,
    accountReady: 'A sua conta está pronta.',
    access: {
      granted: (app) => html`Você já pode entrar em ${app}.`,
      pending: (app) => html`Você ainda não tem acesso a ${app}. Fale com quem convidou você.`,
      unverified: (app) => html`Abra o link que você recebeu por e-mail. Depois, você pode entrar em ${app}.`,
      unenrolled: (app) => html`${app} pede um segundo fator. Entre lá para configurar um.`,
    },
    code: {
      text: (organization) => html`Entre ou cadastre-se onde ${organization} pediu e digite lá este código de convite.`,
      label: 'Código de convite',
      after: 'Se você não sabe onde é, pergunte a quem convidou você.',
    },
  },
  account,
  enrolment: {
    title: 'Configure o seu aplicativo autenticador',
    scan: 'Leia esta imagem com um aplicativo autenticador no seu celular.',
    picture: 'Código QR que contém o segredo abaixo',
    secret: 'Ou digite este segredo no aplicativo',
    code: 'Código que o aplicativo mostra',
    button: 'Ativar',
  },
  recoveryCodes: {
    title: 'Os seus códigos de recuperação',
    text: 'Cada um destes códigos funciona uma vez no lugar de um código do aplicativo. Guarde-os onde possa encontrá-los sem o celular: eles só são mostrados agora.',
    label: 'Códigos de recuperação',
    button: 'Eu os guardei',
  },
  passkeys: {
    title: 'As suas chaves de acesso',
    none: 'Você ainda não tem uma chave de acesso. Com ela, você entra como desbloqueia o seu dispositivo: com a impressão digital, o rosto ou um PIN.',
    added: (day) => `Adicionada em ${day}.`,
    lastUsed: (day) => `Usada pela última vez em ${day}.`,
    notUsed: 'Ainda não foi usada.',
    synchronized: 'Ela é sincronizada entre os seus dispositivos.',
    elsewhere: (host) => html`Ela é de ${host} e não funciona aqui.`,
    noAddress: 'As chaves de acesso não funcionam no endereço deste serviço.',
    rename: 'Renomear',
    remove: (name) => `Remover ${name}`,
    name: 'Nome',
    add: 'Adicionar uma chave de acesso',
    newName: 'Nome da nova chave de acesso',
    newNameValue: 'Meu dispositivo',
    newNameHint: 'Para você reconhecê-la.',
    needsScript: 'As chaves de acesso precisam de JavaScript.',
    signInAgain: 'Entrar de novo para mudar algo',
    comeBack: 'Para mudar algo, entre de novo em um aplicativo e volte em até dez minutos.',
    noneUsed: 'Nenhuma chave de acesso foi usada. Tente de novo ou entre de outra forma.',
    noneMade: 'Nenhuma chave de acesso foi criada. Talvez este dispositivo já tenha uma para você.',
    noApp: {
      title: 'Abra esta página em um dos seus aplicativos',
      text: 'Você não entrou aqui e o endereço não indica nenhum aplicativo.',
    },
    refusals: {
      last: 'Esta é a sua única forma de entrar. Primeiro, escolha uma senha ou adicione outra chave de acesso.',
      known: 'Esta chave de acesso já é usada aqui.',
      limit: 'Você já tem o máximo de chaves de acesso. Remova uma primeiro.',
      tooLong: 'Demorou demais. Tente de novo.',
      gone: 'Esta chave de acesso já foi removida.',
      other: 'Esta chave de acesso não pode ser usada aqui. Tente com outro dispositivo.',
    },
  },
}
