/** Runs once, before the first request, so that a token revoked before this start is never accepted. */
export async function register(): Promise<void> {
  if (process.env.NEXT_RUNTIME !== 'nodejs') return
  const { auth } = await import('./session')
  await auth.ready
}
