import type { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { poolSet } from '../../lib/pool-set.ts'
import { webhookKey } from '../../lib/webhook-key.ts'
import type { App, StoredWebhook } from '../../models/app.ts'
import { type TokenSizeWarning, warnOfTokenSize } from '../catalog/warn-of-token-size.ts'
import { type CollisionWarning, warnOfCollisions } from '../pools/warn-of-collisions.ts'
import type { AppInput, lostSecretWarning } from './schema.ts'
import { type BypassWarning, warnOfBypass } from './warn-of-bypass.ts'

export type AppWarning = CollisionWarning | TokenSizeWarning | z.output<typeof lostSecretWarning> | BypassWarning

const admissionFields = [
  'status',
  'auto_grant_on_signup',
  'auto_grant_follows_policy',
  'sign_up',
  'allowed_email_domains',
  'registration_namespace',
  'read_namespaces',
] as const

/**
 * Warnings for the admin who set these settings of an app: e-mails that several users of its pools share, long tokens,
 * webhooks that lost their secret, and apps that admit users whom they would not register. Refuses nothing.
 */
export async function listWarnings(
  deps: Deps,
  { before, after, input }: { before?: App; after: App; input: AppInput },
): Promise<AppWarning[]> {
  const isNew = before === undefined
  const setsPools = isNew || input.registration_namespace !== undefined || input.read_namespaces !== undefined
  const setsPermissions = isNew || input.service_codes !== undefined || input.permission_scope !== undefined
  return [
    ...(setsPools ? await warnOfCollisions(deps, poolSet(after)) : []),
    ...(setsPermissions ? await warnOfTokenSize(deps, ({ id }) => id === after.id) : []),
    ...(isNew || admissionFields.some((field) => input[field] !== undefined) ? await warnOfBypass(deps, after.id) : []),
    ...warnOfLostSecrets(before?.webhooks ?? [], input.webhooks ?? []),
  ]
}

/** Of webhooks with another URL that leave out their secret: the stored one belongs to the old URL. */
function warnOfLostSecrets(
  before: readonly StoredWebhook[],
  input: NonNullable<AppInput['webhooks']>,
): z.output<typeof lostSecretWarning>[] {
  const known = new Set(before.map(webhookKey))
  const signed = new Set(before.filter(({ secret_box }) => secret_box !== null).map(({ name }) => name))
  return input
    .filter((webhook) => webhook.secret === undefined && signed.has(webhook.name) && !known.has(webhookKey(webhook)))
    .map(({ name }) => {
      const message = `deliveries of ${name} to its new URL are not signed: the stored secret belongs to the old URL`
      return { code: 'webhook_secret_lost', webhook: name, message }
    })
}
