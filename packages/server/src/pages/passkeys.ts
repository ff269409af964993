import { createHash } from 'node:crypto'
import { type Html, html } from '../lib/html.ts'
import type { PageTexts } from './texts/page-texts.ts'

/** Where pages load the script from. The address changes with its content. */
export const scriptPath = '/account/passkeys.js'

/**
 * What the script of a page reads and fills in, inside a form: the options for the browser, the answer, and the sealed challenge.
 * Texts stand here, so that the script has none.
 */
export function passkeyFields(
  { passkeys }: PageTexts,
  kind: 'get' | 'create',
  { options, field }: { options: object; field: string },
): Html {
  return html`<input type="hidden" name="passkey" data-passkey="${kind}" data-options="${JSON.stringify(options)}">
<input type="hidden" name="passkey_challenge" value="${field}">
<p class="alert" role="alert" data-passkey-fault hidden>${kind === 'get' ? passkeys.noneUsed : passkeys.noneMade}</p>
`
}

/**
 * The one script of the pages. It asks the browser for a passkey, at the button or in the list of the e-mail field, and sends its
 * answer with the form. A challenge lives for five minutes, so while the page is open it takes a new one from the same page.
 */
export const script = `(() => {
  const answer = document.querySelector('input[data-passkey]')
  if (!answer || !window.PublicKeyCredential) return
  const form = answer.form
  const isNew = answer.dataset.passkey === 'create'
  const button = form.querySelector('[data-passkey-button]')
  const fault = form.querySelector('[data-passkey-fault]')
  const bytesOf = (text) => Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (one) => one.charCodeAt(0))
  const textOf = (bytes) => {
    const text = Array.from(new Uint8Array(bytes), (one) => String.fromCharCode(one)).join('')
    return btoa(text).replace(/[+]/g, '-').replace(/[/]/g, '_').replace(/=/g, '')
  }
  const optionsOf = () => {
    const options = JSON.parse(answer.dataset.options)
    options.challenge = bytesOf(options.challenge)
    if (!isNew) return { ...options, userVerification: 'required' }
    options.user.id = bytesOf(options.user.id)
    for (const known of options.excludeCredentials) known.id = bytesOf(known.id)
    return options
  }
  const send = (credential) => {
    const { id, rawId, type, response } = credential
    const names = isNew ? ['clientDataJSON', 'attestationObject'] : ['clientDataJSON', 'authenticatorData', 'signature', 'userHandle']
    const parts = names.filter((name) => response[name]).map((name) => [name, textOf(response[name])])
    const sent = { id, rawId: textOf(rawId), type, response: Object.fromEntries(parts) }
    if (isNew) {
      sent.response.transports = response.getTransports ? response.getTransports() : []
      sent.clientExtensionResults = { credProps: credential.getClientExtensionResults().credProps }
    }
    answer.value = JSON.stringify(sent)
    form.submit()
  }
  let waiting
  const ask = async (mediation) => {
    waiting?.abort()
    const mine = (waiting = new AbortController())
    const options = { publicKey: optionsOf(), signal: mine.signal, ...(mediation && { mediation }) }
    try {
      const credential = await (isNew ? navigator.credentials.create(options) : navigator.credentials.get(options))
      send(credential)
    } catch (error) {
      if (mine.signal.aborted) return
      if (!mediation) fault.hidden = false
      if (!mediation) offer()
    }
  }
  const offer = async () => {
    const { isConditionalMediationAvailable: asks } = PublicKeyCredential
    if (!isNew && asks && (await asks.call(PublicKeyCredential))) ask('conditional')
  }
  const renew = async () => {
    const reply = await fetch(location.href, { redirect: 'error', cache: 'no-store' })
    const page = new DOMParser().parseFromString(await reply.text(), 'text/html')
    const next = page.querySelector('input[data-passkey]')
    if (!next) return
    answer.dataset.options = next.dataset.options
    form.elements.passkey_challenge.value = next.form.elements.passkey_challenge.value
    offer()
  }
  button.hidden = false
  button.addEventListener('click', () => {
    fault.hidden = true
    ask()
  })
  offer()
  setInterval(() => renew().catch(() => {}), 4 * 60 * 1000)
})()
`

export const scriptUrl = `${scriptPath}?v=${createHash('sha256').update(script).digest('base64url').slice(0, 12)}`
