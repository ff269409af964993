import { headers } from 'next/headers'
import { Suspense } from 'react'
import { session } from '../session'

export default function Page() {
  return (
    <Suspense>
      <Greeting />
    </Suspense>
  )
}

async function Greeting() {
  const { principal } = await session.getSession(await headers())
  return (
    <main>
      <h1>{principal ? `Hello, ${principal.claims.email}` : 'Hello'}</h1>
      <a href="/notes">Your notes</a>
    </main>
  )
}
