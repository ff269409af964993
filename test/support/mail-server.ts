// A mail server and the mail that it received: real SMTP, read by a parser that the sender does not use.
import type { AddressInfo } from 'node:net'
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { onTestFinished } from 'vitest'

export type OnEnd = (fn: () => Promise<void>) => void

const patienceMs = 60_000
const lookMs = 10

export interface Mail {
  /** The recipient named in the SMTP envelope. */
  to: string
  from: string
  fromName: string
  replyTo: string | undefined
  subject: string
  text: string
  html: string
  /** Every line of the text that is a link. */
  links: string[]
  /** The token of the first link. */
  token: string
  headers: Map<string, string>
  attachments: Email['attachments']
  /** The message as it came over the wire. */
  raw: string
}

export interface Mailbox {
  /** For the setting SMTP_URL. */
  url: string
  /** All that has arrived, oldest first. */
  mails: Mail[]
  mailsTo(address: string): Mail[]
  /** The first mail to an address that was not taken yet; waits if there is none. `fits` matches the subject. */
  take(address: string, fits?: RegExp): Promise<Mail>
  /** The SMTP replies that refuse a recipient or a message; if undefined, it is accepted. */
  refuse: { recipient?: string; message?: string }
  /** All recipients that were named, accepted or not. */
  named: string[]
  /** Stops the server: connections are refused until `open`, which uses the same port. */
  close(): Promise<void>
  open(): Promise<void>
}

/** Polls until `look` returns something other than undefined or false. Throws if that takes too long. */
export async function until<T>(look: () => T | undefined | false | Promise<T | undefined | false>, what = 'it'): Promise<T> {
  for (const end = performance.now() + patienceMs; ; ) {
    const found = await look()
    if (found !== undefined && found !== false) return found
    if (performance.now() > end) throw new Error(`never: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, lookMs))
  }
}

/** Starts a mail server; it is stopped when the test ends. The options are those of smtp-server, for TLS and logins. */
export async function startMailbox(options: SMTPServerOptions = {}, onEnd: OnEnd = onTestFinished): Promise<Mailbox> {
  let server: SMTPServer | undefined
  let port = 0
  const taken = new Set<Mail>()
  const listen = () =>
    new Promise<void>((resolve, reject) => {
      server = createServer(mailbox, options)
      server.on('error', () => {})
      const listening = server.listen(port, '127.0.0.1', () => {
        port = (listening.address() as AddressInfo).port
        resolve()
      })
      listening.once('error', reject)
    })
  const mailbox: Mailbox = {
    url: '',
    mails: [],
    named: [],
    refuse: {},
    mailsTo: (address) => mailbox.mails.filter(({ to }) => to === address),
    async take(address, fits = /^/) {
      const mail = await until(
        () => mailbox.mailsTo(address).find((mail) => !taken.has(mail) && fits.test(mail.subject)),
        `a mail to ${address}`,
      )
      taken.add(mail)
      return mail
    },
    close: () => new Promise((resolve) => (server ? server.close(() => resolve()) : resolve())),
    open: listen,
  }
  await listen()
  mailbox.url = `smtp://127.0.0.1:${port}`
  onEnd(() => mailbox.close())
  return mailbox
}

function createServer(mailbox: Mailbox, options: SMTPServerOptions): SMTPServer {
  return new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    closeTimeout: 1,
    onRcptTo({ address }, _, answer) {
      mailbox.named.push(address)
      answer(refusal(mailbox.refuse.recipient))
    },
    onData(stream, session, answer) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => void chunks.push(chunk))
      stream.on('end', async () => {
        const fault = refusal(mailbox.refuse.message)
        if (fault) return answer(fault)
        const to = session.envelope.rcptTo[0]!.address
        mailbox.mails.push(await readMail(to, Buffer.concat(chunks)))
        answer()
      })
    },
    ...options,
  })
}

/** Turns a reply such as `450 try later` into the error for which smtp-server sends it. */
function refusal(reply: string | undefined): Error | undefined {
  if (reply === undefined) return undefined
  return Object.assign(new Error(reply.slice(4)), { responseCode: Number(reply.slice(0, 3)) })
}

export async function readMail(to: string, bytes: Buffer): Promise<Mail> {
  const email: Email = await PostalMime.parse(bytes)
  const text = email.text ?? ''
  const links = text.split('\n').filter((line) => /^https?:\S+$/.test(line))
  return {
    to,
    from: email.from?.address ?? '',
    fromName: email.from?.name ?? '',
    replyTo: email.replyTo?.[0]?.address,
    subject: email.subject ?? '',
    text,
    html: email.html ?? '',
    links,
    token: links[0] === undefined ? '' : (new URL(links[0]).searchParams.get('token') ?? ''),
    attachments: email.attachments,
    headers: new Map(email.headers.map(({ key, value }) => [key, value])),
    raw: bytes.toString('latin1'),
  }
}
