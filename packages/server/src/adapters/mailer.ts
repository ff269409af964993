import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { SendMailOptions, Transporter } from 'nodemailer'
import { logoId, MailError, type WrittenMail } from '../lib/mail.ts'

/** A message that is ready to send. Its texts have `\n` line endings. */
interface OutgoingMail extends WrittenMail {
  /** Stays the same over all attempts. It becomes the Message-ID, by which a mailbox recognizes repeats. */
  id: string
  to: string
  /** Milliseconds: the header `Date`. */
  at: number
}

/** Sends one message. Resolves when the other side has accepted it. Throws MailError. */
export interface Mailer {
  send(mail: OutgoingMail): Promise<void>
  close(): void
}

interface MailerOptions {
  smtpUrl: string | undefined
  mailFrom: string
  mailDir: string
}

/** How long a mail server may take, in milliseconds. */
interface MailTimeouts {
  connectMs: number
  greetingMs: number
  /** Without a byte from the other side. */
  silenceMs: number
  /** For the whole message: a server that drips its replies is never silent. */
  sendMs: number
}

const require = createRequire(import.meta.url)

/**
 * Loaded with the first mail. A service that sends none starts sooner and needs less memory. Required instead of imported: its
 * modules would import `node:http`, which loads all of fetch (`http/connections.ts`).
 */
const nodemailer = (): typeof import('nodemailer') => require('nodemailer')

/** Connections to the mail server, kept open for the next message. */
const connections = 5
/** Well below the lease of an outbox message. */
const usualTimeouts: MailTimeouts = { connectMs: 5_000, greetingMs: 5_000, silenceMs: 10_000, sendMs: 25_000 }

/** Sends by SMTP if `smtpUrl` is set. Otherwise writes each message to an `.eml` file in `mailDir`. */
export function createMailer({ smtpUrl, mailFrom, mailDir }: MailerOptions, timeouts: MailTimeouts = usualTimeouts): Mailer {
  return smtpUrl === undefined ? fileMailer(mailDir, mailFrom) : smtpMailer(smtpUrl, mailFrom, timeouts)
}

function smtpMailer(url: string, from: string, { connectMs, greetingMs, silenceMs, sendMs }: MailTimeouts): Mailer {
  let transport: Transporter | undefined
  const open = () =>
    nodemailer().createTransport({
      url,
      pool: true,
      maxConnections: connections,
      // The outbox counts the attempts. Retries by the pool would not be counted.
      maxRequeues: 0,
      connectionTimeout: connectMs,
      greetingTimeout: greetingMs,
      dnsTimeout: connectMs,
      socketTimeout: silenceMs,
    })
  return {
    async send(mail) {
      transport ??= open()
      try {
        await transport.sendMail({ ...messageOf(mail, from, 'encoded'), signal: AbortSignal.timeout(sendMs) })
      } catch (error) {
        throw mailErrorOf(error, mail.to)
      }
    },
    close: () => transport?.close(),
  }
}

interface TransportError extends Error {
  /** Where it failed: `EENVELOPE` at sender or recipient, `EMESSAGE` at the message, `EABORT` after our timeout, and others. */
  code?: string
  response?: string
  responseCode?: number
}

/**
 * A 5xx for this sender, recipient or message is final. A 5xx for the connection or the login is about the settings, which the
 * operator may correct while the message waits.
 */
function mailErrorOf(error: unknown, address: string): MailError {
  const fault: TransportError = error instanceof Error ? error : new Error(String(error))
  const { code, response, responseCode: status, message } = fault
  const isFinal = (code === 'EENVELOPE' || code === 'EMESSAGE') && status !== undefined && status >= 500 && status < 600
  const said = code === 'EABORT' ? 'the mail server took too long' : (response ?? message)
  return new MailError(withoutAddress(said, address), { status, isFinal, cause: error })
}

function withoutAddress(text: string, address: string): string {
  return text.replace(new RegExp(address.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'), 'gi'), '[address]')
}

/**
 * Writes one file per message, readable only by its owner and named by time. It appears complete or not at all. It writes
 * synchronously, which takes half of the processor time for a file that is small and on the local disk.
 */
function fileMailer(folder: string, from: string): Mailer {
  let composer: Transporter | undefined
  return {
    async send(mail) {
      composer ??= nodemailer().createTransport({ streamTransport: true, buffer: true, newline: 'windows' })
      const { message } = await composer.sendMail(messageOf(mail, from, '8bit'))
      const name = `${new Date(mail.at).toISOString().replaceAll(':', '-')}-${mail.id}.eml`
      const unfinished = join(folder, `.${name}.part`)
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      writeFileSync(unfinished, message as Buffer, { mode: 0o600 })
      renameSync(unfinished, join(folder, name))
    },
    close: () => {},
  }
}

function messageOf(mail: OutgoingMail, from: string, nonAscii: '8bit' | 'encoded'): SendMailOptions {
  const { text, logo, fromName, replyTo } = mail
  return {
    from: fromName === undefined ? from : { name: fromName, address: addressOf(from) },
    ...(replyTo === undefined ? {} : { replyTo: { name: '', address: replyTo } }),
    to: { name: '', address: mail.to },
    subject: mail.subject,
    date: new Date(mail.at),
    messageId: `<${mail.id}@${domainOf(from)}>`,
    headers: { 'Auto-Submitted': 'auto-generated' },
    text: isAscii(text) || nonAscii === '8bit' ? { raw: plainPart(text) } : text,
    html: mail.html,
    attachments: logo ? [attachmentOf(logo)] : [],
    disableFileAccess: true,
    disableUrlAccess: true,
  }
}

function attachmentOf({ type, image }: NonNullable<OutgoingMail['logo']>) {
  const filename = `logo.${type.replace('image/', '')}`
  return { cid: logoId, content: image, contentType: type, filename, contentDisposition: 'inline' as const }
}

function isAscii(text: string): boolean {
  return /^[\n\x20-\x7e]*$/.test(text)
}

/**
 * The text unencoded: an encoding that folds lines would break links for readers of the raw message. Every mail server takes ASCII
 * in this form; a file also holds other text.
 */
function plainPart(text: string): string {
  const [charset, encoding] = isAscii(text) ? ['us-ascii', '7bit'] : ['utf-8', '8bit']
  const headers = [`Content-Type: text/plain; charset=${charset}`, `Content-Transfer-Encoding: ${encoding}`]
  return [...headers, '', ...text.split('\n')].join('\r\n')
}

function addressOf(from: string): string {
  return /<([^<>]*)>\s*$/.exec(from)?.[1] ?? from.trim()
}

function domainOf(from: string): string {
  return /@([A-Za-z0-9.-]+)>?\s*$/.exec(from)?.[1] ?? 'localhost'
}
