import { connection } from 'next/server'
import { Suspense } from 'react'
import { SignIn } from './sign-in'

export default function Page() {
  return (
    <Suspense>
      <WithSettings />
    </Suspense>
  )
}

/** Reads the settings at request time, not at build time. */
async function WithSettings() {
  await connection()
  return <SignIn authUrl={process.env.SERVICE_AUTH_URL ?? ''} appCode={process.env.SERVICE_APP_CODE ?? ''} />
}
