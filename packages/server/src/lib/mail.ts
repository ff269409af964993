export interface MailLogo {
  type: string
  image: Buffer
  /** In pixels, as shown. */
  width: number
  height: number
}

export interface MailParts {
  subject: string
  text: string
  html: string
  logo: MailLogo | undefined
}

/** The Content-ID of the logo: the image travels with the mail, so that reading it tells nobody anything. */
export const logoId = 'logo@gatehouse'

/** A mail, its sender's name and where replies go. */
export interface WrittenMail extends MailParts {
  /** Undefined for mails that are about no app: MAIL_FROM names the sender. */
  fromName: string | undefined
  replyTo: string | undefined
}

/** Why a message was not accepted. Only the operator sees the text of the other side, with the address removed. */
export class MailError extends Error {
  /** The SMTP reply code, if there was one. */
  readonly status: number | undefined
  /** Refused for good, so another attempt is useless. */
  readonly isFinal: boolean

  constructor(message: string, { status, isFinal, cause }: { status: number | undefined; isFinal: boolean; cause: unknown }) {
    super(message, { cause })
    this.name = 'MailError'
    this.status = status
    this.isFinal = isFinal
  }
}
