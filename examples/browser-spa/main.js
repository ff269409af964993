// A sign-in page without a framework: register, sign in (with a second factor), show the account, call a backend, sign out here or
// everywhere. Only `auth` handles tokens.
import { BrowserAuthError, createBrowserAuth } from '@gatehouse/sdk/browser'

const authUrl = import.meta.env.VITE_AUTH_URL ?? 'http://127.0.0.1:4000'
const auth = createBrowserAuth({ authUrl, appCode: import.meta.env.VITE_APP_CODE ?? 'shop' })
const provider = new URLSearchParams(location.search).get('provider') ?? import.meta.env.VITE_SSO_PROVIDER
const askEveryMs = 250

const element = (id) => document.getElementById(id)

/** Continues the login with a two-factor code. Set only while the page asks for one. */
let submitCode
let shownUserId

// --- Rendering ---------------------------------------------------------------------------------------------------------------

function viewFor(state) {
  if (state.status === 'signed_in') return 'account'
  if (submitCode) return 'code'
  return location.hash === '#register' ? 'register' : 'login'
}

function render() {
  const view = viewFor(auth.state)
  for (const name of ['login', 'register', 'code', 'account']) element(`${name}-view`).hidden = name !== view
  element('connection').textContent =
    auth.state.status === 'signed_out' ? 'Signed out' : auth.state.offline ? 'Offline, still signed in' : 'Signed in'
  // Moves the focus with the view, for users of a keyboard or a screen reader.
  if (document.body.dataset.view !== view) {
    element('problem').textContent = ''
    ;(element(`${view}-view`).querySelector('input') ?? element(`${view}-heading`)).focus()
    if (view === 'account') element('account-heading').focus()
  }
  document.body.dataset.view = view
  if (view === 'account') void showAccount(auth.state.user)
}

async function showAccount(user) {
  if (shownUserId === user.id) return
  shownUserId = user.id
  element('account-heading').textContent = `Hello, ${user.first_name ?? user.email}`
  await attempt(async () => {
    const response = await auth.fetch(`${authUrl}/api/v1/auth/me`)
    if (!response.ok) return
    const profile = await response.json()
    const rows = {
      'E-mail': `${profile.user.email} (${profile.user.email_verified ? 'verified' : 'not verified yet'})`,
      Roles: profile.roles.join(', '),
      Permissions: profile.permissions.join(', ') || 'none',
      'Two-factor': profile.two_factor ? 'on' : 'off',
    }
    const cells = Object.entries(rows).flatMap(([term, text]) => [cell('dt', term), cell('dd', text)])
    element('profile').replaceChildren(...cells)
    await showProviders()
  })
}

/** Lists the providers linked to the account. The user can unlink one while another way to sign in is left. */
async function showProviders() {
  const response = await auth.fetch(`${authUrl}/api/v1/auth/identities`)
  if (!response.ok) return
  const { items } = await response.json()
  element('providers').hidden = items.length === 0
  element('provider-list').replaceChildren(...items.map(providerItem))
}

function providerItem({ id, provider, created_at }) {
  const item = cell('li', `${named(provider)}, since ${new Date(created_at).toLocaleDateString()} `)
  const button = cell('button', `Unlink ${named(provider)}`)
  button.type = 'button'
  button.className = 'secondary'
  button.addEventListener('click', () =>
    attempt(async () => {
      const response = await auth.fetch(`${authUrl}/api/v1/auth/identities/${id}`, { method: 'DELETE' })
      if (!response.ok) element('problem').textContent = words[(await response.json()).code] ?? 'That did not work.'
      await showProviders()
      element(element('providers').hidden ? 'account-heading' : 'providers-heading').focus()
    }),
  )
  item.append(button)
  return item
}

function named(code) {
  return code[0].toUpperCase() + code.slice(1)
}

function cell(name, text) {
  const made = document.createElement(name)
  made.textContent = text
  return made
}

const words = {
  invalid_credentials: 'E-mail or password is wrong.',
  invalid_two_factor_code: 'That code is not the one. Codes change every 30 seconds.',
  account_locked: 'Too many tries. The account is locked for a while.',
  rate_limited: 'Too many tries. Wait a little.',
  link_required: 'There is an account with this e-mail already. Sign in to it another way.',
  user_exists: 'There is an account with this e-mail already.',
  app_access_denied: 'Your account has no access to this app yet.',
  service_unreachable: 'The login service cannot be reached. Nothing is lost: try again in a moment.',
  signed_out: 'Sign in first.',
  last_sign_in_method: 'This is your only way to sign in. Set a password or add a passkey first.',
  sso_denied: 'The provider did not sign you in.',
  sso_failed: 'The sign-in at the provider failed. Try again in a moment.',
  sso_state_mismatch: 'That sign-in was not begun here. Start it again.',
}

function showProblem(error) {
  const fields = error.fields.map(({ message }) => message).join(' ')
  element('problem').textContent = words[error.code] ?? (fields || error.message)
}

/** Runs an action of the user. Shows an error of the SDK as text. */
async function attempt(work) {
  element('problem').textContent = ''
  element('notice').textContent = ''
  try {
    await work()
  } catch (error) {
    if (!BrowserAuthError.is(error)) throw error
    showProblem(error)
  }
}

// --- Actions -----------------------------------------------------------------------------------------------------------------

/** Shows the view that a result leads to. If a second factor is required, that is the form for the code. */
function follow(result) {
  submitCode = result?.status === 'two_factor_required' ? result.submitCode : undefined
  if (result?.status === 'access_pending') {
    location.hash = '#login'
    element('notice').textContent = 'Your account is there. You can sign in once an admin has let you in.'
  }
  render()
}

function onSubmit(id, work) {
  const form = element(id)
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    // A disabled button would lose the keyboard focus.
    if (form.ariaBusy === 'true') return
    form.ariaBusy = 'true'
    await attempt(async () => {
      const result = await work(Object.fromEntries(new FormData(form)))
      if (result?.error) return showProblem(result.error)
      form.reset()
      follow(result)
    })
    form.ariaBusy = 'false'
  })
}

onSubmit('login-form', ({ email, password }) => auth.login({ email, password }))
onSubmit('register-form', ({ email, password, firstName }) => auth.register({ email, password, firstName }))
onSubmit('code-form', ({ code }) => submitCode(code.trim()))

async function ask() {
  try {
    // A relative URL: vite forwards /api to the backend, as a web server in front of both would.
    const response = await auth.fetch('/api/')
    const body = await response.json()
    element('answer').textContent = response.ok ? `${response.status}: hello ${body.hello}` : `${response.status}: ${body.code}`
  } catch (error) {
    element('answer').textContent = `No answer: ${BrowserAuthError.is(error) ? error.message : 'the API cannot be reached'}`
  }
}

element('ask').addEventListener('click', ask)
setInterval(() => {
  if (element('keep-asking').checked && auth.state.status === 'signed_in') void ask()
}, askEveryMs)

element('logout').addEventListener('click', () => attempt(() => auth.logout()))
element('logout-everywhere').addEventListener('click', () => attempt(() => auth.logout({ everywhere: true })))

if (provider) {
  element('sso').hidden = false
  element('sso').textContent = `Continue with ${named(provider)}`
  element('sso').addEventListener('click', () => attempt(() => auth.sso.start(provider)))
}

addEventListener('hashchange', () => follow(undefined))
auth.subscribe((state) => {
  if (state.status === 'signed_out') {
    shownUserId = undefined
    element('profile').replaceChildren()
    element('providers').hidden = true
    element('provider-list').replaceChildren()
    element('answer').textContent = 'Not asked yet.'
    element('keep-asking').checked = false
  }
  render()
  if (state.reason === 'session_ended') element('notice').textContent = 'Your session has ended. Sign in again.'
})

render()
await attempt(async () => follow(await auth.sso.finish()))
