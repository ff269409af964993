import { type Brand, shownAddress, shownName } from '../lib/brand.ts'
import { readImage } from '../lib/image.ts'
import type { Language } from '../lib/locale.ts'
import type { MailLogo, WrittenMail } from '../lib/mail.ts'
import { describeProgram } from './describe-program.ts'
import { type MailContent, renderMail } from './render-mail.ts'
import { de } from './texts/de.ts'
import { en } from './texts/en.ts'
import { es } from './texts/es.ts'
import { fr } from './texts/fr.ts'
import { it } from './texts/it.ts'
import type { ActionPurpose, MailTexts, NoticePurpose, Reason } from './texts/mail-texts.ts'
import { pt } from './texts/pt.ts'

/** An app or an organization. `code` is its code or slug, shown in place of a name of which nothing is visible. */
interface NamedParty {
  name: string
  code: string
}

/** For which app a mail is sent, and by which service. */
export interface Sender {
  app: (NamedParty & { brand: Partial<Brand>; logo: { type: string; image: Buffer } | undefined }) | undefined
  /** The host of the service. */
  service: string
  language: Language
}

/** When and from where something was done. */
export interface Origin {
  /** Milliseconds. */
  at: number
  /** Null if an administrator did it. */
  ip: string | null
  userAgent: string | null
}

export const catalogs: Record<Language, MailTexts> = { en, de, fr, es, it, pt }

/** Mails of each kind that are sent for another reason than the others. */
const reasonOf: Partial<Record<ActionPurpose | NoticePurpose, Reason>> = {
  allow_email_change: 'askedInside',
  delete_account: 'askedInside',
  undo_email_change: 'changed',
  email_change_requested: 'askedInside',
  account_deleted: 'askedInside',
  two_factor_locked: 'tried',
  new_sign_in: 'signedIn',
}

export function actionMail(
  sender: Sender,
  purpose: ActionPurpose,
  { link, origin, newEmail, code, disownLink }: ActionFacts,
): WrittenMail {
  const texts = textsOf(sender)
  const app = appIn(sender)
  const { subject, intro, button, after, afterWithCode = after } = texts.actions[purpose]
  const isDisownable = purpose === 'verify_email'
  return write(sender, reasonOf[purpose] ?? 'asked', {
    subject: subject(app),
    before: [intro(app, newEmail === null ? '' : shownAddress(newEmail))],
    button: {
      label: button,
      leadsTo: texts.leadsTo(button),
      link,
      fallback: texts.byLink,
      isHarmful: purpose === 'delete_account',
    },
    code: code === undefined ? undefined : { label: texts.byCode, code },
    after: [...(code === undefined ? after : afterWithCode), texts.where(describePlace(texts, origin))],
    other: isDisownable ? { ...texts.disown, link: disownLink } : undefined,
  })
}

interface ActionFacts {
  link: string
  origin: Origin
  /** The address that the account would get. */
  newEmail: string | null
  /** For a mail that was asked for on our own page: the code to type there. */
  code: string | undefined
  /** For a reader who did not ask for the mail. */
  disownLink: string
}

/** `expiresAt` in milliseconds. */
export function invitationMail(sender: Sender, organization: NamedParty, link: string, expiresAt: number): WrittenMail {
  const texts = textsOf(sender)
  const { subject, intro, button, until, after } = texts.invitation
  return write(sender, 'invited', {
    // A stranger may have founded the organization, so the subject, which mail programs show first, has no text of theirs.
    subject: subject(appIn(sender)),
    before: [intro(nameOf(organization), appIn(sender))],
    button: { label: button, leadsTo: texts.leadsTo(button), link, fallback: texts.byLink },
    after: [until(timeOf(texts, expiresAt)), after],
  })
}

/** Sent to an admin. It omits the requester's message: anyone can ask, so admins read messages in a place known to be ours. */
export function accessRequestedMail(sender: Sender, { email, requestId }: { email: string; requestId: string }): WrittenMail {
  const { subject, intro, decide } = textsOf(sender).accessRequested
  return write(sender, 'administers', {
    subject: subject(appIn(sender)),
    before: [intro(appIn(sender), shownAddress(email)), decide],
    commands: [`authctl grant request approve ${requestId}`, `authctl grant request deny ${requestId}`],
    after: [],
  })
}

/** Sent to the user who asked for access. */
export function accessDecidedMail(
  sender: Sender,
  { isApproved, reason }: { isApproved: boolean; reason: string | null },
): WrittenMail {
  const { accessApproved, accessDenied } = textsOf(sender)
  const { subject, text } = isApproved ? accessApproved : accessDenied
  const said = isApproved || reason === null ? [] : [accessDenied.reason(shownName(reason))]
  return write(sender, 'requested', { subject: subject(appIn(sender)), before: [text(appIn(sender)), ...said], after: [] })
}

/** A notice of a change. It has no link: attackers would imitate a link that can act on the account. */
export function noticeMail(sender: Sender, purpose: NoticePurpose, { provider, ...origin }: NoticeFacts): WrittenMail {
  const texts = textsOf(sender)
  const { subject, text, advice = texts.advice } = texts.notices[purpose]
  const app = appIn(sender)
  const { support_email, support_url } = sender.app?.brand ?? {}
  const contact = texts.contact(app, support_email ?? support_url ?? undefined)
  return write(sender, reasonOf[purpose] ?? 'changed', {
    subject: subject(app),
    // Nothing in the code of a provider can become a link.
    before: [text(provider ?? ''), texts.where(describePlace(texts, origin))],
    after: [`${advice} ${contact}`],
  })
}

interface NoticeFacts extends Origin {
  /** The code of the provider of an identity. */
  provider: string | null
}

export function testMail(sender: Sender): WrittenMail {
  const { subject, text } = textsOf(sender).test
  return write(sender, 'tested', { subject: subject(appIn(sender)), before: [text], after: [] })
}

function textsOf({ language }: Sender): MailTexts {
  return catalogs[language]
}

type Written = Pick<MailContent, 'subject' | 'before' | 'button' | 'code' | 'commands' | 'after' | 'other'>

function write(sender: Sender, reason: Reason, content: Written): WrittenMail {
  const texts = textsOf(sender)
  const { app, service, language } = sender
  const { accent_color = null, support_email, support_url, from_name } = app?.brand ?? {}
  const support = support_url ?? support_email
  const parts = renderMail({
    ...content,
    language,
    place: app && nameOf(app),
    logo: app?.logo && fitLogo(app.logo),
    accentColor: accent_color,
    hello: texts.hello,
    footer: [
      app ? texts.sentFor(service, nameOf(app)) : texts.sentBy(service),
      texts.because[reason],
      ...(support ? [texts.help(support)] : []),
    ],
  })
  return { ...parts, fromName: app && (from_name ?? nameOf(app)), replyTo: support_email ?? undefined }
}

function nameOf({ name, code }: NamedParty): string {
  return shownName(name) || code
}

/** The name of the app, or else of the service. */
function appIn({ app, service }: Sender): string {
  return app ? nameOf(app) : service
}

const logoBox = { width: 240, height: 48 }

/** The size in which a logo is shown. Mail programs that know no styles need it in full. */
function fitLogo({ type, image }: { type: string; image: Buffer }): MailLogo | undefined {
  const size = readImage(image)
  if (!size) return undefined
  const scale = Math.min(logoBox.width / size.width, logoBox.height / size.height, 1)
  const scaled = (pixels: number) => Math.max(1, Math.round(pixels * scale))
  return { type, image, width: scaled(size.width), height: scaled(size.height) }
}

/** `Chrome on Windows, 26 November 2026, 15:04 UTC, from 203.0.113.7`. */
function describePlace(texts: MailTexts, { at, ip, userAgent }: Origin): string {
  const { program, system } = describeProgram(userAgent ?? '')
  const from = program && system ? texts.on(program, system) : (program ?? system)
  return [from, timeOf(texts, at), ip === null ? undefined : texts.from(ip)].filter((part) => part !== undefined).join(', ')
}

/** Made once for each language: that costs as much as the rest of a mail. */
const formats = new Map<string, Record<'date' | 'time', Intl.DateTimeFormat>>()

function timeOf({ locale }: MailTexts, ms: number): string {
  const format = formats.get(locale) ?? {
    date: new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeZone: 'UTC' }),
    time: new Intl.DateTimeFormat(locale, { timeStyle: 'short', hourCycle: 'h23', timeZone: 'UTC' }),
  }
  formats.set(locale, format)
  return `${format.date.format(ms)}, ${format.time.format(ms)} UTC`
}
