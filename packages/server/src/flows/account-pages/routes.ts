import { type WebPage, webPage } from '../../http/page.ts'
import { validate } from '../../http/validate.ts'
import { choosePassword } from './choose-password.ts'
import { confirmChange, confirmEmail } from './confirm-email.ts'
import { deleteByLink } from './delete-by-link.ts'
import { describeInvitation } from './describe-invitation.ts'
import { describeMailLink } from './describe-mail-link.ts'
import { disownByLink } from './disown-by-link.ts'
import { enterByInvitation } from './enter-by-invitation.ts'
import { handOverLogin } from './hand-over-login.ts'
import { enteredView, invitationView } from './invitation-views.ts'
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
  deleteAccountPage(),
  resetPasswordPage(),
  magicLinkPage(),
  acceptInvitationPage(),
]

function verifyEmailPage(): WebPage {
  const path = '/verify-email'
  return webPage({
    path,
    advice:
      'If you already confirmed your address, you are done. If not, request another mail where you registered, and open its link.',
    show: async (deps, { token }) => verifyView({ path, token }, await describeMailLink(deps, token, 'verify_email')),
    form: confirmForm,
    async submit(deps, { form, origin }) {
      const link = await describeMailLink(deps, form.token, 'verify_email')
      try {
        const outcome = await confirmEmail(deps, { link, form }, { caller: undefined, origin })
        return outcome === 'confirmed' ? verifiedView(link) : resetMailedView(link)
      } catch (error) {
        return verifyView({ path, token: form.token }, link, refusalOf(error))
      }
    },
  })
}

/**
 * For both links of a change of the address. The holder of an account without a password allows the change at the present
 * address, and confirms the new one in the app, since this page has no session that could show whose account it is.
 */
function confirmChangePage(): WebPage {
  const path = '/confirm-email'
  const purposes = ['change_email', 'allow_email_change'] as const
  return webPage({
    path,
    advice: 'If you already confirmed the address, you are done. If not, request the change again where you are signed in.',
    show: async (deps, { token }) => changeView({ path, token }, await describeMailLink(deps, token, ...purposes)),
    form: confirmForm,
    async submit(deps, { form, origin }) {
      const place = { path, token: form.token }
      const link = await describeMailLink(deps, form.token, ...purposes)
      if (link.newEmail === null && !link.asksPassword) return changeView(place, link)
      try {
        await confirmChange(deps, { link, form }, { caller: undefined, origin })
        return link.newEmail === null ? verifiedView(link) : changeAllowedView(link, link.newEmail)
      } catch (error) {
        return changeView(place, link, refusalOf(error))
      }
    },
  })
}

function deleteAccountPage(): WebPage {
  const path = '/delete-account'
  return webPage({
    path,
    advice: 'If you already deleted the account, you are done. If not, ask again where you are signed in.',
    show: async (deps, { token }) => deletionView({ path, token }, await describeMailLink(deps, token, 'delete_account')),
    form: tokenForm,
    async submit(deps, { form: { token }, origin }) {
      const link = await describeMailLink(deps, token, 'delete_account')
      try {
        await deleteByLink(deps, token, { caller: undefined, origin })
        return deletedView(link)
      } catch (error) {
        return deletionView({ path, token }, link, refusalOf(error))
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
