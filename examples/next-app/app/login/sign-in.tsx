'use client'

import { type BrowserAuth, createBrowserAuth } from '@gatehouse/sdk/browser'
import { AuthProvider, useAuth, useFetch } from '@gatehouse/sdk/react'
import { type SubmitEvent, useEffect, useState } from 'react'

interface Settings {
  readonly authUrl: string
  readonly appCode: string
}

/** Renders nothing on the server: the tokens are in the browser. */
export function SignIn({ authUrl, appCode }: Settings) {
  const [auth, setAuth] = useState<BrowserAuth>()
  useEffect(() => setAuth(createBrowserAuth({ authUrl, appCode })), [authUrl, appCode])
  return auth ? (
    <AuthProvider auth={auth}>
      <Account />
    </AuthProvider>
  ) : null
}

function Account() {
  const { state, auth } = useAuth()
  return state.status === 'signed_in' ? (
    <main>
      <h1>Hello, {state.user.first_name ?? state.user.email}</h1>
      <Answer />
      <button type="button" onClick={() => auth.logout()}>
        Log out
      </button>
    </main>
  ) : (
    <LoginForm auth={auth} />
  )
}

/** Calls the route handler of this app with the user's token, and shows the answer. */
function Answer() {
  const fetchAsUser = useFetch()
  const [text, setText] = useState('')
  useEffect(() => {
    fetchAsUser('/api/notes').then(async (answer) => setText(`${answer.status} ${await answer.text()}`))
  }, [fetchAsUser])
  return <output>{text}</output>
}

function LoginForm({ auth }: { readonly auth: BrowserAuth }) {
  const [problem, setProblem] = useState('')
  const signIn = async (form: FormData) => {
    let result = await auth.login({ email: String(form.get('email')), password: String(form.get('password')) })
    if (result.ok && result.status === 'two_factor_required')
      result = await result.submitCode(window.prompt('Code of your authenticator app') ?? '')
    setProblem(result.ok ? '' : result.error.message)
  }
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault()
    void signIn(new FormData(event.currentTarget))
  }
  return (
    <form onSubmit={submit}>
      <h1>Sign in</h1>
      <label>
        E-mail <input name="email" type="email" autoComplete="username" required />
      </label>
      <label>
        Password <input name="password" type="password" autoComplete="current-password" required />
      </label>
      <button type="submit">Sign in</button>
      <p role="alert">{problem}</p>
    </form>
  )
}
