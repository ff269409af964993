/** Runs once, before the first request: a token that was revoked before this start gets in at no time. */
export async function register(): Promise<void> {
  if (process.env.NEXT_RUNTIME !== 'nodejs') return
  const { auth } = await import('./auth')
  await auth.ready
}
