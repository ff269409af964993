/** The effective state of a grant: an active one expires at `expires_at`. */
export const grantStates = ['active', 'revoked', 'expired'] as const

/** `expires_at` and `now` in milliseconds. */
export function grantStateAt(
  { status, expires_at }: { status: 'active' | 'revoked'; expires_at: number | null },
  now: number,
): (typeof grantStates)[number] {
  if (status === 'revoked') return 'revoked'
  return expires_at === null || expires_at > now ? 'active' : 'expired'
}
