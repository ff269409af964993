import { headers } from 'next/headers'
import { auth } from '../auth'

/** Rendered on the server for the token in the request headers. A proxy in front of the app can add one; a browser does not. */
export default async function Page() {
  const principal = await auth.authenticate(await headers()).catch(() => undefined)
  return (
    <main>
      <h1>{principal ? principal.claims.email : 'nobody'}</h1>
      <a href="/login">Sign in</a>
    </main>
  )
}
