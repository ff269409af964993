import { z } from 'zod'
import { type Route, route } from '../../http/route.ts'
import { errorOfPage, leadTo, showPage } from '../../http/speak/page.ts'
import { validate } from '../../http/validate.ts'
import { type FormRefusal, type PageToken, refusalOf, wayOn } from '../../pages/fields.ts'
import type { LinkPath } from '../../pages/texts/page-texts.ts'
import { type Reader, textsFor } from '../../pages/texts/texts-for.ts'
import { describeInvitation, enterByInvitation, enteredView, invitationView } from './invitation.ts'
import {
  choosePassword,
  confirmChange,
  confirmDeletion,
  confirmEmail,
  describeMailLink,
  disownEmail,
  findPlaceOfLink,
  isOfDeadLink,
  type MailPurposes,
  secureAccount,
  undoEmailChange,
  withLoginToken,
} from './mail-link.ts'
import {
  changeAllowedView,
  changeView,
  deletedView,
  deletionView,
  disownedView,
  disownView,
  loginCodeView,
  magicLinkView,
  passwordSetView,
  resetMailedView,
  resetView,
  securedView,
  secureView,
  undoneView,
  undoView,
  verifiedView,
  verifyView,
} from './mail-link-views.ts'
import { confirmForm, invitationAnswers, invitationForm, newPasswordForm, tokenForm } from './schema.ts'

type Deps = Parameters<Route['handle']>[0]
type Origin = Parameters<Route['handle']>[1]['origin']
type View = Parameters<typeof showPage>[0]

/**
 * A page behind the link of a mail: GET shows a form, which posts to the same path. GET changes nothing, because programs that scan
 * mail follow links. There is no session and no cookie: the token in the form is the only authority, so a forged post from another
 * site gains nothing.
 */
interface LinkPage<S, F extends { token: string }> extends Pick<Route, 'errors'> {
  path: LinkPath
  /** The purposes of the tokens that it takes, if a mail has them. */
  purposes: MailPurposes
  /** Reads what the link is about, without spending the token. Throws `invalid_token`, `invalid_invitation`. */
  read(deps: Deps, token: string, reader: Reader): Promise<S>
  show(place: PageToken, subject: S, refusal?: FormRefusal, sent?: F): View
  /** Its fields; input that does not match was not sent by the form. */
  form: z.ZodType<F>
  /** Whether `submit` may return a URL. */
  leadsOn?: true
  /** Returns what to show, or the URL to go on to. What it throws is shown in the form if the reader can correct it. */
  submit(deps: Deps, subject: S, form: F, actor: { caller: undefined; origin: Origin }): Promise<View | string>
}

function linkPage<S, F extends { token: string }>(page: LinkPage<S, F>): Route[] {
  const { path, purposes, errors, read, show, form, leadsOn, submit } = page
  /** The page for a link that does not work. */
  const deadLink = async (deps: Deps, method: string, token: string, origin: Origin, error: unknown) => {
    if (!isOfDeadLink(error)) throw error
    const place = await findPlaceOfLink(deps, token, purposes)
    const texts = textsFor({ ...readerOf(origin), place })
    return errorOfPage(texts, { method, path, place, onward: wayOn(texts, place) }, error, origin.requestId)
  }
  const common = { path, tag: 'Pages', speaks: 'page', auth: 'public' } as const
  return [
    route({
      ...common,
      method: 'GET',
      summary: 'Show what the link of a mail is for',
      query: tokenForm,
      responses: { 200: z.string() },
      errors: errors.filter((code) => code === 'invalid_token' || code === 'invalid_invitation'),
      async handle(deps, { query: { token }, origin }) {
        try {
          return showPage(show({ path, token }, await read(deps, token, readerOf(origin))))
        } catch (error) {
          return deadLink(deps, 'GET', token, origin, error)
        }
      },
    }),
    route({
      ...common,
      method: 'POST',
      summary: 'Do what the link of a mail is for',
      body: form,
      placeOf: async (deps, sent) => findPlaceOfLink(deps, tokenForm.parse(sent).token, purposes),
      responses: leadsOn ? { 200: z.string(), 303: null } : { 200: z.string() },
      errors,
      async handle(deps, { body, origin }) {
        let subject: S
        try {
          subject = await read(deps, body.token, readerOf(origin))
        } catch (error) {
          return deadLink(deps, 'POST', body.token, origin, error)
        }
        try {
          const next = await submit(deps, subject, body, { caller: undefined, origin })
          return typeof next === 'string' ? leadTo(next) : showPage(next)
        } catch (error) {
          if (isOfDeadLink(error)) return deadLink(deps, 'POST', body.token, origin, error)
          const refusal = refusalOf(error)
          return { ...showPage(show({ path, token: body.token }, subject, refusal, body)), errorCode: refusal.code }
        }
      },
    }),
  ]
}

function readerOf({ languages }: Origin): Reader {
  return { accepts: languages }
}

/** The pages that mail links lead to if an app has no frontend (docs/sign-users-in/account-mail.md#pages-of-the-service). */
export const mailLinkRoutes: Route[] = [
  ...linkPage({
    path: '/verify-email',
    purposes: ['verify_email'],
    read: (deps, token, reader) => describeMailLink(deps, token, reader, 'verify_email'),
    show: verifyView,
    form: confirmForm,
    errors: ['invalid_credentials', 'invalid_token', 'invalid_two_factor_code', 'two_factor_required'],
    submit: async (deps, link, form, actor) =>
      (await confirmEmail(deps, link, form, actor)) === 'confirmed' ? verifiedView(link) : resetMailedView(link),
  }),
  ...linkPage({
    path: '/disown-email',
    purposes: ['verify_email'],
    read: (deps, token, reader) => describeMailLink(deps, token, reader, 'verify_email'),
    show: disownView,
    form: tokenForm,
    errors: ['invalid_token'],
    async submit(deps, link, { token }, actor) {
      await disownEmail(deps, token, actor)
      return disownedView(link)
    },
  }),
  // For both links of a change of the address. The holder of an account without a password allows the change at the present
  // address, and confirms the new one in the app, since this page has no session that could show whose account it is.
  ...linkPage({
    path: '/confirm-email',
    purposes: ['change_email', 'allow_email_change'],
    read: (deps, token, reader) => describeMailLink(deps, token, reader, 'change_email', 'allow_email_change'),
    show: changeView,
    form: confirmForm,
    errors: ['invalid_credentials', 'invalid_token'],
    async submit(deps, link, form, actor) {
      if (link.newEmail === null && !link.asksPassword) return changeView({ path: '/confirm-email', token: form.token }, link)
      await confirmChange(deps, link, form, actor)
      return link.newEmail === null ? verifiedView(link) : changeAllowedView(link, link.newEmail)
    },
  }),
  ...linkPage({
    path: '/undo-email-change',
    purposes: ['undo_email_change'],
    read: (deps, token, reader) => describeMailLink(deps, token, reader, 'undo_email_change'),
    show: undoView,
    form: tokenForm,
    errors: ['invalid_token'],
    async submit(deps, link, { token }, actor) {
      await undoEmailChange(deps, token, actor)
      return undoneView(link)
    },
  }),
  ...linkPage({
    path: '/secure-account',
    purposes: ['new_sign_in'],
    read: (deps, token, reader) => describeMailLink(deps, token, reader, 'new_sign_in'),
    show: secureView,
    form: tokenForm,
    errors: ['invalid_token'],
    async submit(deps, link, { token }, actor) {
      await secureAccount(deps, token, actor)
      return securedView(link)
    },
  }),
  ...linkPage({
    path: '/delete-account',
    purposes: ['delete_account'],
    read: (deps, token, reader) => describeMailLink(deps, token, reader, 'delete_account'),
    show: deletionView,
    form: tokenForm,
    errors: ['invalid_token'],
    async submit(deps, link, { token }, actor) {
      await confirmDeletion(deps, token, actor)
      return deletedView(link)
    },
  }),
  ...linkPage({
    path: '/reset-password',
    purposes: ['reset_password'],
    read: (deps, token, reader) => describeMailLink(deps, token, reader, 'reset_password'),
    show: resetView,
    form: newPasswordForm,
    errors: ['invalid_token'],
    async submit(deps, link, form, actor) {
      await choosePassword(deps, form, actor)
      return passwordSetView(link)
    },
  }),
  ...linkPage({
    path: '/magic-link',
    purposes: ['magic_link'],
    read: (deps, token, reader) => describeMailLink(deps, token, reader, 'magic_link'),
    show: magicLinkView,
    form: tokenForm,
    errors: ['invalid_token'],
    leadsOn: true,
    submit: async (_, link, { token }) =>
      link.redirectUrl === null ? loginCodeView({ path: '/magic-link', token }, link) : withLoginToken(link.redirectUrl, token),
  }),
  ...linkPage({
    path: '/accept-invitation',
    purposes: [],
    read: describeInvitation,
    show: invitationView,
    form: invitationForm,
    errors: [
      'account_locked',
      'account_suspended',
      'app_access_denied',
      'email_domain_not_allowed',
      'invalid_credentials',
      'invalid_invitation',
      'invalid_two_factor_code',
      'second_factor_not_shown',
      'two_factor_enrollment_required',
      'two_factor_required',
    ],
    async submit(deps, offer, form, actor) {
      const { token } = form
      if (offer.app === null) return invitationView({ path: '/accept-invitation', token }, offer)
      const answers = validate(invitationAnswers, { ...form, email: offer.email ?? form.email })
      return enteredView(offer, await enterByInvitation(deps, { token, app: offer.app, answers }, actor))
    },
  }),
]
