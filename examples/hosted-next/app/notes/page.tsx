import { headers } from 'next/headers'
import { Suspense } from 'react'
import { session } from '../../session'

export default function Page() {
  return (
    <Suspense>
      <Notes />
    </Suspense>
  )
}

/** `proxy.ts` leads others to sign in. */
async function Notes() {
  const { principal } = await session.getSession(await headers())
  if (!principal) return null
  return (
    <main>
      <h1>Notes of {principal.claims.email}</h1>
      <form method="post" action="/logout?browser">
        <button type="submit">Sign out</button>
      </form>
    </main>
  )
}
