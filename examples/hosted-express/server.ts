// A reading list whose pages are rendered here. People sign in on the page of Gatehouse; their tokens stay in encrypted cookies,
// and no script runs in the browser.
import { createAuth } from '@gatehouse/sdk'
import { createWebSession, getAuth } from '@gatehouse/sdk/web'
import express, { type Request } from 'express'

const auth = createAuth()
const session = createWebSession(auth)
const lists = new Map<string, string[]>()
const app = express()
app.use(session.node.handle)

app.get('/', (request, response) => {
  const user = userOf(request)
  response.send(
    page(user ? `<p>Hello, ${escaped(user.email)}. <a href="/list">Your list</a></p>` : '<a href="/list">Sign in</a>'),
  )
})

app.use('/list', session.node.requireSession(), express.urlencoded({ extended: false }))
app.get('/list', (request, response) => {
  const items = listOf(request).map((title) => `<li>${escaped(title)}</li>`)
  const add = '<form method="post"><input name="title" aria-label="Title" required> <button>Add</button></form>'
  const signOut = '<form method="post" action="/logout?browser"><button>Sign out</button></form>'
  response.send(page(`<ul>${items.join('')}</ul>${add}${signOut}`))
})
app.post('/list', (request, response) => {
  const { title } = request.body as { title?: unknown }
  if (typeof title === 'string' && title !== '') lists.set(userIdOf(request), [...listOf(request), title.slice(0, 200)])
  response.redirect(303, '/list')
})
app.get('/api/list', session.node.requireSession(), (request, response) => void response.json(listOf(request)))

await auth.readyWithin(5)
const server = app.listen(Number(process.env.PORT ?? 3000), () => {
  console.log(`listening on ${process.env.SERVICE_REDIRECT_URL?.replace('/callback', '/')}`)
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => server.close(() => process.exit(0)))

function userOf(request: Request) {
  return getAuth<string, undefined>(request)?.claims
}

function userIdOf(request: Request): string {
  return getAuth(request).userId
}

function listOf(request: Request): string[] {
  return lists.get(userIdOf(request)) ?? []
}

function page(body: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Reading list</title><h1>Reading list</h1>${body}</html>`
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
