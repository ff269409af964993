import { connection } from 'next/server'
import { SignIn } from './sign-in'

/** Reads the settings when it is asked for, not when it is built. */
export default async function Page() {
  await connection()
  return <SignIn authUrl={process.env.SERVICE_AUTH_URL ?? ''} appCode={process.env.SERVICE_APP_CODE ?? ''} />
}
