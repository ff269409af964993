export const outboxKinds = ['webhook', 'mail'] as const
export type OutboxKind = (typeof outboxKinds)[number]

/** A webhook or mail that is to be sent, or was. */
export interface OutboxEntry {
  /** Stays the same over all attempts, so that a receiver can tell repeats. */
  id: string
  kind: OutboxKind
  app_id: string | null
  user_id: string | null
  /** The name of the webhook in its app, or the purpose of the mail. */
  name: string
  /** A URL, or an e-mail address. */
  destination: string
  payload: string
  status: 'pending' | 'delivered' | 'failed'
  /** Those that have ended. */
  attempts: number
  next_attempt_at: number
  last_status: number | null
  last_error: string | null
  created_at: number
  finished_at: number | null
}
