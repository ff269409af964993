import { getPrincipal } from '@gatehouse/sdk/next'
import { Suspense } from 'react'
import { auth } from '../auth'

export default function Page() {
  return (
    <main>
      <Suspense fallback={<h1>…</h1>}>
        <Greeting />
      </Suspense>
      <a href="/login">Sign in</a>
    </main>
  )
}

/** Rendered for each request, for the token in its headers. A proxy in front of the app can add one; a browser does not. */
async function Greeting() {
  const principal = await getPrincipal(auth)
  return <h1>{principal ? principal.claims.email : 'nobody'}</h1>
}
