import type { Context } from '../command-line/contexts.ts'

/** A context as it is shown: never with its tokens. */
export function viewContext(name: string, context: Context, current: string | null, now: number) {
  const { base_url, email, tokens } = context
  return {
    name,
    current: name === current,
    base_url,
    email,
    protected: context.protected ?? false,
    signed_in: tokens !== null && tokens.refresh_expires_at > now,
    session_expires_at: tokens === null ? null : new Date(tokens.refresh_expires_at).toISOString(),
  }
}
