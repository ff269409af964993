import type { Context } from '../command-line/contexts.ts'

/** A context as it is shown: never with its tokens. */
export function viewContext(name: string, { base_url, email, tokens }: Context, current: string | null, now: number) {
  return {
    name,
    current: name === current,
    base_url,
    email,
    signed_in: tokens !== null && tokens.refresh_expires_at > now,
    session_expires_at: tokens === null ? null : new Date(tokens.refresh_expires_at).toISOString(),
  }
}
