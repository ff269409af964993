import { headers } from 'next/headers'
import { redirect } from 'next/navigation'
import { Suspense } from 'react'
import { session } from '../../session'

export default function Page() {
  return (
    <Suspense>
      <Notes />
    </Suspense>
  )
}

/** A guarded page. */
async function Notes() {
  const { principal } = await session.getSession(await headers())
  if (!principal) redirect('/login?returnTo=/notes')
  return (
    <main>
      <h1>Notes of {principal.claims.email}</h1>
      <form method="post" action="/logout">
        <button type="submit">Sign out</button>
      </form>
    </main>
  )
}
