// A list of titles for each user, kept in this browser.
import { createBrowserAuth } from '@gatehouse/sdk/browser'

const { VITE_AUTH_URL: authUrl = 'http://localhost:4000', VITE_APP_CODE: appCode = 'shop' } = import.meta.env
const element = (id) => document.getElementById(id)
const nameOfList = () => new URLSearchParams(location.search).get('list') ?? 'books'
const keyOf = ({ id }) => `titles:${id}:${nameOfList()}`
const readTitles = (user) => JSON.parse(localStorage.getItem(keyOf(user)) ?? '[]')

// --- All about signing in ----------------------------------------------------------------------------------------------------
const auth = createBrowserAuth({ authUrl, appCode })
const userNow = () => auth.state.user
element('sign-in').onclick = () => attempt(() => auth.signIn())
element('sign-out').onclick = () => attempt(() => auth.signOut())
element('sign-out-of-all').onclick = () => attempt(() => auth.signOut({ browser: true }))
auth.subscribe(render)
const back = await attempt(() => auth.handleRedirect())
if (back) history.replaceState(null, '', back.returnTo)
// -----------------------------------------------------------------------------------------------------------------------------

render()

function render() {
  const user = userNow()
  element('visitor').hidden = Boolean(user)
  element('reader').hidden = !user
  if (!user) return
  element('name').textContent = user.first_name ?? user.email
  element('list').textContent = nameOfList()
  element('titles').replaceChildren(...readTitles(user).map(itemOf))
}

function itemOf(title) {
  const item = document.createElement('li')
  item.textContent = title
  return item
}

/** Runs an action of the user. Shows an error as text. */
async function attempt(action) {
  element('problem').textContent = ''
  try {
    return await action()
  } catch (error) {
    element('problem').textContent = `${error.message}. Try again.`
  }
}

element('add').addEventListener('submit', (event) => {
  event.preventDefault()
  const user = userNow()
  const titles = [...readTitles(user), new FormData(event.target).get('title')]
  localStorage.setItem(keyOf(user), JSON.stringify(titles))
  event.target.reset()
  render()
})
