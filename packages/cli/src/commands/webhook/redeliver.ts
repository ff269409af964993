import { Failure } from '../../command-line/exit-codes.ts'
import { type Input, positional } from '../../command-line/options.ts'
import { type Result, record } from '../../output/output.ts'
import { isUuid } from '../../text/uuid.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

const options = { id: positional('ID', 'Id of the delivery, as webhook deliveries shows it') }

export const redeliverWebhook = command({
  path: 'webhook redeliver',
  summary: 'Send a finished delivery again',
  description: 'Under the same webhook-id, to the URL that its webhook has now, with three attempts.',
  examples: [
    'webhook redeliver 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f',
    'webhook redeliver 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f --dry-run',
    'webhook redeliver 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f --json',
  ],
  options,
  run: runRedeliverWebhook,
})

export async function runRedeliverWebhook({ api }: Tools, { id }: Input<typeof options>): Promise<Result> {
  if (!isUuid(id)) {
    throw new Failure('invalid', `"${id}" is no id of a delivery`, {
      code: 'invalid_delivery',
      hint: 'authctl webhook deliveries --app CODE shows the ids',
    })
  }
  await api.POST('/api/v1/admin/webhook-deliveries/{deliveryId}/redeliver', { params: { path: { deliveryId: id } } })
  return record({ id }, 'queued')
}
