import type { Channel } from './outbox.ts'

export const mailChannel: Channel = {
  atOnce: 5,
  atOncePerDestination: 5,
  waitsMs: [2_000, 10_000, 60_000, 300_000, 900_000, 3_600_000],
  remains: '{}',
  attempt: async () => ({ result: 'failed', error: 'not built' }),
}
