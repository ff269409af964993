import { headers } from 'next/headers'
import Link from 'next/link'
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
      <Link href="/notes">Your notes</Link> {principal ? '' : <a href="/login">Sign in</a>}
    </main>
  )
}
