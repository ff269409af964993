import { connection } from 'next/server'
import { SignIn } from './sign-in'

/** Reads the settings at request time, not at build time. */
export default async function Page() {
  await connection()
  return <SignIn authUrl={process.env.SERVICE_AUTH_URL ?? ''} appCode={process.env.SERVICE_APP_CODE ?? ''} />
}
