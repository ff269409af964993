import { type WebPage, webPage } from '../../http/page.ts'
import { validate } from '../../http/validate.ts'
import { choosePassword } from './choose-password.ts'
import { confirmEmail, mailReset } from './confirm-email.ts'
import { describeInvitation } from './describe-invitation.ts'
import { describeMailLink } from './describe-mail-link.ts'
import { disownByLink } from './disown-by-link.ts'
import { enterByInvitation } from './enter-by-invitation.ts'
import { handOverLogin } from './hand-over-login.ts'
import { enteredView, invitationView } from './invitation-views.ts'
import {
  disownedView,
  disownView,
  loginCodeView,
  magicLinkView,
  passwordSetView,
  resetMailedView,
  resetView,
  undoneView,
  undoView,
  verifiedView,
  verifyView,
} from './mail-link-views.ts'
import { refusalOf } from './refusal.ts'
import { confirmForm, invitationAnswers, invitationForm, newPasswordForm, tokenForm } from './schema.ts'
import { undoByLink } from './undo-by-link.ts'

/** The pages that mail links lead to if an app has no frontend (docs/account-mail.md#pages-of-the-service). */
export const accountPages: WebPage[] = [
  verifyEmailPage(),
  disownEmailPage(),
  confirmChangePage(),
  undoChangePage(),
  resetPasswordPage(),
  magicLinkPage(),
  acceptInvitationPage(),
]

function verifyEmailPage(): WebPage {
  const advice =
    'If you already confirmed your address, you are done. If not, request another mail where you registered, and open its link.'
  return confirmationPage({ path: '/verify-email', purpose: 'verify_email', advice })
}

function confirmChangePage(): WebPage {
  const advice = 'If you already confirmed the address, you are done. If not, request the change again where you are signed in.'
  return confirmationPage({ path: '/confirm-email', purpose: 'change_email', advice })
}

/** A page that confirms an address. It asks for the password of the account, if there is one, since a link alone proves nothing. */
function confirmationPage({
  path,
  purpose,
  advice,
}: {
  path: string
  purpose: 'verify_email' | 'change_email'
  advice: string
}): WebPage {
  return webPage({
    path,
    advice,
    show: async (deps, { token }) => verifyView({ path, token }, await describeMailLink(deps, token, purpose)),
    form: confirmForm,
    async submit(deps, { form, origin }) {
      const link = await describeMailLink(deps, form.token, purpose)
      try {
        if (form.forgot !== '') {
          await mailReset(deps, link, origin)
          return resetMailedView(link)
        }
        await confirmEmail(deps, purpose, { link, form }, { caller: undefined, origin })
        return verifiedView(link)
      } catch (error) {
        return verifyView({ path, token: form.token }, link, refusalOf(error))
      }
    },
  })
}

function disownEmailPage(): WebPage {
  const path = '/disown-email'
  return webPage({
    path,
    advice: 'If you already answered this mail, or requested a newer one, there is nothing to do here.',
    show: async (deps, { token }) => disownView({ path, token }, await describeMailLink(deps, token, 'verify_email')),
    form: tokenForm,
    async submit(deps, { form, origin }) {
      return disownedView(await disownByLink(deps, form.token, { caller: undefined, origin }))
    },
  })
}

function undoChangePage(): WebPage {
  const path = '/undo-email-change'
  return webPage({
    path,
    advice: 'If you already took the change back, you are done. If not, contact the people who run the service.',
    show: async (deps, { token }) => undoView({ path, token }, await describeMailLink(deps, token, 'undo_email_change')),
    form: tokenForm,
    async submit(deps, { form, origin }) {
      const link = await describeMailLink(deps, form.token, 'undo_email_change')
      try {
        await undoByLink(deps, form.token, { caller: undefined, origin })
        return undoneView(link)
      } catch (error) {
        return undoView({ path, token: form.token }, link, refusalOf(error))
      }
    },
  })
}

function resetPasswordPage(): WebPage {
  const path = '/reset-password'
  return webPage({
    path,
    advice: 'If you still need a new password, request another mail with "forgot password", and open its link.',
    show: async (deps, { token }) => resetView({ path, token }, await describeMailLink(deps, token, 'reset_password')),
    form: newPasswordForm,
    async submit(deps, { form, origin }) {
      const link = await describeMailLink(deps, form.token, 'reset_password')
      try {
        await choosePassword(deps, form, { caller: undefined, origin })
        return passwordSetView(link)
      } catch (error) {
        return resetView({ path, token: form.token }, link, refusalOf(error))
      }
    },
  })
}

function magicLinkPage(): WebPage {
  const path = '/magic-link'
  return webPage({
    path,
    advice: 'To sign in, request another mail where you want to sign in, and open its link within 15 minutes.',
    show: async (deps, { token }) => magicLinkView({ path, token }, await describeMailLink(deps, token, 'magic_link')),
    form: tokenForm,
    async submit(deps, { form: { token } }) {
      const { link, redirectTo } = await handOverLogin(deps, token)
      return redirectTo === null ? loginCodeView({ path, token }, link) : { redirectTo }
    },
  })
}

function acceptInvitationPage(): WebPage {
  const path = '/accept-invitation'
  return webPage({
    path,
    advice: 'If you already accepted the invitation, you are done. If not, ask the person who invited you for another one.',
    show: async (deps, { token }) => invitationView({ path, token }, await describeInvitation(deps, token)),
    form: invitationForm,
    async submit(deps, { form, origin }) {
      const { token } = form
      const offer = await describeInvitation(deps, token)
      if (offer.app === null) return invitationView({ path, token }, offer)
      try {
        const answers = validate(invitationAnswers, { ...form, email: offer.email ?? form.email })
        return enteredView(
          offer,
          await enterByInvitation(deps, { token, app: offer.app, answers }, { caller: undefined, origin }),
        )
      } catch (error) {
        return invitationView({ path, token }, offer, { form, refusal: refusalOf(error) })
      }
    },
  })
}
