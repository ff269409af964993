import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { type AccountQuery, type AccountSection, sectionPath } from '../../lib/account-sections.ts'
import type { Actor, PersonCaller } from '../../lib/caller.ts'
import { type Html, html, type PageView } from '../../lib/html.ts'
import { isUuid } from '../../lib/uuid.ts'
import { describeProgram } from '../../mail/describe-program.ts'
import type { App } from '../../models/app.ts'
import type { LiveBrowserSession } from '../../models/browser-session.ts'
import { type FormRefusal, stepForm } from '../../pages/fields.ts'
import type { DoneWord } from '../../pages/texts/account/account-texts.ts'
import type { PageTexts } from '../../pages/texts/page-texts.ts'
import { type BrowserSecrets, callerOfBrowser } from '../../resources/sessions/browser-sessions.ts'
import type { PooledUser } from '../../resources/users/present.ts'
import type { SaidRefusal } from '../sign-in/sealed-fields.ts'
import type { AccountForm } from './schema.ts'

/** Why the person may change nothing. Undefined if they have just shown all that they have. */
export function refuseChange(deps: Deps, live: LiveBrowserSession) {
  const at = { now: deps.clock(), factorSince: live.factor_activated_at }
  return callerOfBrowser(deps, live).authority.refuseCredentialChange(at)
}

/** The person of the account page, and what the page shows them by. */
export interface Person {
  live: LiveBrowserSession
  user: PooledUser
  caller: PersonCaller
  /** Whose look and pools count. Undefined if neither the URL nor the service names one. */
  app: App | undefined
  place: PageView['place']
  /** The secret that marks the browser. */
  browser: string
  texts: PageTexts
  query: AccountQuery
  /** Whether the person has just shown all that they have. */
  isFresh: boolean
  /** The hidden fields of every form. */
  hidden: Readonly<Record<string, string>>
  /** Why the last form changed nothing. */
  said: SaidRefusal | undefined
  /** The same for a form whose fields are shown again. */
  refusal: FormRefusal | undefined
  /** The digest of the seed of a second factor that this browser has asked for. */
  seed: string | undefined
  origin: Actor['origin']
}

/** Who sends a form of the account page. */
export type PersonActor = Actor & { caller: PersonCaller }

export interface Acting {
  live: LiveBrowserSession
  browser: string
  app: App | undefined
}

/** What came of a form. */
export interface Done {
  done?: DoneWord
  codes?: string[]
  /** The digest of a seed that the person was given. */
  seed?: string
  /** New cookies, where the browser session has a new secret. */
  secrets?: BrowserSecrets
  /** A new device token alone. */
  deviceToken?: string
  /** The account is gone. */
  isOver?: true
  /** A page of somebody else that the browser goes on to. */
  leadsTo?: string
  /** Why nothing was done, where somebody else is the reason. */
  refusal?: SaidRefusal
}

/** What a step does. The page has checked that the person is fresh. Errors that the person can correct are shown on the page. */
export type Step = (deps: Deps<Pool>, form: AccountForm, acting: Acting, actor: PersonActor) => Promise<Done | undefined>

/** A section of the account page. */
export interface Section {
  name: AccountSection
  title(texts: PageTexts): string
  show(deps: Deps, person: Person): Promise<{ title?: string; body: Html } & Pick<PageView, 'script' | 'leadsTo'>>
  /** What its forms do. Without any, it has no forms and asks for no proof. */
  steps?: Readonly<Record<string, Step>>
  /** What is wrong, where the section has its own words for it. */
  faultOf?(texts: PageTexts, said: SaidRefusal): string | undefined
}

/** A form of a section. */
export function sectionForm(
  section: AccountSection,
  { hidden }: Person,
  { step, button, values = {}, isQuiet = false, isHarmful = false }: FormOfSection,
  ...parts: readonly (Html | undefined)[]
): Html {
  return stepForm({ action: sectionPath(section), hidden: { ...hidden, ...values, step }, button, isQuiet, isHarmful }, ...parts)
}

interface FormOfSection {
  step: string
  button: string
  values?: Readonly<Record<string, string>>
  isQuiet?: boolean
  isHarmful?: boolean
}

/** The id of a row in a form. */
export function idIn({ id }: AccountForm): string {
  if (!isUuid(id)) throw new ApiError('not_found')
  return id
}

/** A browser in words of our own: anyone can send any text. */
export function browserName({ account }: PageTexts, userAgent: string | null): string {
  const { program, system } = describeProgram(userAgent ?? '')
  return [program, system].filter((part) => part !== undefined).join(' · ') || account.sessions.browser
}

/** Sentences in one paragraph. */
export function paragraph(...sentences: readonly (string | Html | undefined | false)[]): Html {
  const said = sentences.filter((sentence) => sentence)
  return html`<p>${said.map((sentence, index) => html`${index > 0 && ' '}${sentence}`)}</p>\n`
}
