import { hash } from 'node:crypto'
import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { accountSections } from '../../lib/account-sections.ts'
import { doneWords } from '../../pages/texts/account/account-texts.ts'
import { faultWords } from '../../pages/texts/faults.ts'

/** What a hidden field may carry of a request: long enough for a person who is called away, and no longer than a day's forms. */
export const requestLifeMs = 60 * 60_000
/** How long a person has for the second factor. */
export const ticketLifeMs = 5 * 60_000
/** How long a person has for their passkey. */
export const challengeLifeMs = 5 * 60_000

/** Somebody has shown the first factor. It opens nothing; `passSecondFactor` makes a proof of it. */
const ticket = z.object({
  id: z.string(),
  userId: z.string(),
  email: z.string(),
  version: z.number(),
  method: z.string(),
  firstProvenAt: z.number(),
  isKept: z.boolean(),
  /** The code of a provider, which the second factor has to spend. */
  providerCode: z.string().optional(),
  /** The hash of the token of a mail, as above. */
  mailTokenHash: z.string().optional(),
})
export type FirstFactorTicket = z.output<typeof ticket>

/** A provider has named somebody. The person agrees first if that makes an account, or if somebody else is signed in. */
const named = z.object({ code: z.string(), email: z.string(), isNew: z.boolean(), isKept: z.boolean().default(false) })
export type NamedByProvider = z.output<typeof named>

/** A mail that this browser has asked for. `token` is there once its link was opened here. */
const mail = z.object({
  purpose: z.enum(['reset_password', 'magic_link', 'verify_email']),
  email: z.string(),
  codeKey: z.string(),
  token: z.string().optional(),
})
export type AskedMail = z.output<typeof mail>

/** A client of the API that has asked for a code by mail. No browser is known there: who holds the field has asked. */
const codeRequest = z.object({ email: z.string(), appId: z.string(), codeKey: z.string() })

/** Why a form is shown again, and what stands in it. A password never does. */
const refusal = z.object({
  code: z.string(),
  faults: z.record(z.string(), z.enum(faultWords).catch('invalid')),
  retryAfter: z.number().optional(),
  email: z.string().optional(),
  firstName: z.string().optional(),
  lastName: z.string().optional(),
  isKept: z.boolean().optional(),
})
export type SaidRefusal = z.output<typeof refusal>

const kinds = {
  /**
   * The authorization request that a page carries in a field of its form, and whom the page names. While the person is at a
   * provider, also whether they asked to be kept signed in.
   */
  request: z.object({
    query: z.string(),
    begunAt: z.number(),
    sealedAt: z.number(),
    userId: z.string().optional(),
    isKept: z.boolean().optional(),
  }),
  email_code: codeRequest,
  /** What a passkey is asked to sign. */
  passkey: z.object({ challenge: z.string(), sealedAt: z.number() }),
  /** What a new passkey is made with, and for whom. */
  new_passkey: z.object({ challenge: z.string(), sealedAt: z.number(), userId: z.string(), userHandle: z.string() }),
  /** A form of the account page, and what came of the last one. */
  account: z.object({
    section: z.enum(accountSections),
    userId: z.string(),
    sealedAt: z.number(),
    refusal: refusal.optional(),
    /** What was done, in a word of the page's texts. */
    done: z
      .enum([...doneWords, 'deleted'])
      .optional()
      .catch(undefined),
    /** Recovery codes, which are shown only once. */
    codes: z.array(z.string()).optional(),
    /** The digest of the seed that this browser has asked for. */
    seed: z.string().optional(),
  }),
  /** Somebody on the account page who is at a provider, to connect their account there, and the page that they come back to. */
  connection: z.object({ userId: z.string(), sessionId: z.string(), app: z.string(), returnTo: z.string() }),
  /** The page that asks for the code of a device. */
  device_form: z.object({ userId: z.string(), sealedAt: z.number() }),
  /** The device whose code was typed in this browser. */
  device: z.object({ hash: z.string() }),
  logout: z.object({ query: z.string(), sealedAt: z.number() }),
  /** What the redirect after a form carries, in the URL: which request it goes on with, and what to show. */
  resume: z.object({
    queryHash: z.string(),
    begunAt: z.number(),
    sealedAt: z.number(),
    ticket: ticket.optional(),
    named: named.optional(),
    mail: mail.optional(),
    /** The page to show in place of the first one. */
    instead: z.enum(['forgot', 'magic_link', 'create', 'sign_in']).optional(),
    /** The address that was typed before the page in its place was asked for. */
    typed: z.string().optional(),
    refusal: refusal.optional(),
    /** The digest of the seed that this browser has asked for. Another one may be somebody else's. */
    seed: z.string().optional(),
    /** The recovery codes of a second factor that its owner has just set up. */
    codes: z.object({ userId: z.string(), codes: z.array(z.string()) }).optional(),
  }),
}
type Kinds = typeof kinds
const schemas: { [K in keyof Kinds]: z.ZodType<z.output<Kinds[K]>> } = kinds
export type Resume = z.output<Kinds['resume']>
/** What a step has brought about, for the page after it. */
export type StepResult = Omit<Resume, 'queryHash' | 'begunAt' | 'sealedAt'>

/**
 * Makes and opens the sealed fields of our pages. Each kind has a context of its own, with the browser that it was made for, so a
 * field cannot stand in for another kind, nor be used in another browser.
 */
export function sealField<K extends keyof Kinds>(deps: Deps, kind: K, browser: string, value: z.output<Kinds[K]>): string {
  return deps.secretBox.seal(JSON.stringify(value), contextOf(kind, browser))
}

/** Undefined for a field that was not sealed here, for this kind and this browser. */
export function openField<K extends keyof Kinds>(
  deps: Deps,
  kind: K,
  browser: string | undefined,
  field: string | undefined,
): z.output<Kinds[K]> | undefined {
  if (browser === undefined || field === undefined) return undefined
  try {
    return schemas[kind].parse(JSON.parse(deps.secretBox.open(field, contextOf(kind, browser))))
  } catch {
    return undefined
  }
}

function contextOf(kind: keyof Kinds, browser: string): string {
  return `field:${kind}:${hash('sha256', browser, 'base64url')}`
}
