import type { Channel } from './outbox.ts'

export const webhookChannel: Channel = {
  atOnce: 512,
  atOncePerDestination: 64,
  waitsMs: [2_000, 10_000],
  attempt: async () => ({ result: 'failed', error: 'not built' }),
}
