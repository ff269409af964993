import { type Html, html, type PagePlace, type PageView } from '../../lib/html.ts'
import { wayOn } from '../../pages/fields.ts'
import type { RequestFault } from './authorization-request.ts'

const action = '/oauth/authorize'

const faults: Record<RequestFault, { title: string; text: Html; status: number }> = {
  unknown_app: {
    status: 400,
    title: 'This app is not known here',
    text: html`No app has the <code>client_id</code> of this link.`,
  },
  inactive_app: {
    status: 403,
    title: 'This app is switched off',
    text: html`Nobody can sign in to it at the moment. Try again later.`,
  },
  redirect_missing: { status: 400, title: 'This sign-in cannot work', text: html`The link has no <code>redirect_uri</code>.` },
  redirect_unknown: {
    status: 400,
    title: 'This sign-in cannot work',
    text: html`The <code>redirect_uri</code> of this link is not one of the redirect URLs of the app.`,
  },
  redirect_prefixes_only: {
    status: 400,
    title: 'This sign-in cannot work',
    text: html`All redirect URLs of the app end in <code>*</code>. An admin has to add the exact URL.`,
  },
}

/** For a request whose app or redirect URL is not good: the browser is sent nowhere. */
export function faultView(fault: RequestFault, place: PagePlace | undefined): PageView {
  const { status, title, text } = faults[fault]
  return {
    status,
    title,
    place,
    body: html`<p>${text}</p>\n<p>Go back to the app, and tell its developers if it happens again.</p>\n${wayOn(place)}`,
  }
}

/** For a sign-in link that is opened where nobody asked for it. */
export const codeElsewhereView = (place: PagePlace): PageView => ({
  status: 200,
  title: 'Type the code where you asked for it',
  place,
  body: html`<p>The mail has a code of six digits. Type it on the page where you asked for the mail. This browser is not signed in.</p>`,
})

/** For a browser that did not begin what it brings to an end. */
export const elsewhereView: PageView = {
  status: 400,
  title: 'Go back to where you began',
  body: html`<p>This sign-in began in another browser. Go on there, or start again from the app.</p>`,
}

/** For a form that was open for too long, or that this browser did not get. */
export function startAgainView(query: string | undefined, place?: PagePlace): PageView {
  const start = query === undefined ? undefined : html`<p><a class="button" href="${`${action}?${query}`}">Start again</a></p>`
  return {
    status: 400,
    title: 'This page is too old',
    place,
    body: html`<p>The page was open for too long, or your browser does not keep cookies.</p>
${start ?? html`<p>Go back to the app, and sign in again.</p>`}`,
  }
}
