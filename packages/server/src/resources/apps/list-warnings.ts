import type { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { poolSet } from '../../lib/pool-set.ts'
import { webhookKey } from '../../lib/webhook-key.ts'
import type { App, StoredWebhook } from '../../models/app.ts'
import { type TokenSizeWarning, warnOfTokenSize } from '../catalog/warn-of-token-size.ts'
import { type CollisionWarning, warnOfCollisions } from '../pools/warn-of-collisions.ts'
import type { AppInput, lostSecretWarning, prefixesWarning } from './schema.ts'
import { type BypassWarning, warnOfBypass } from './warn-of-bypass.ts'

export type AppWarning =
  | CollisionWarning
  | TokenSizeWarning
  | z.output<typeof lostSecretWarning | typeof prefixesWarning>
  | BypassWarning

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
 * webhooks that lost their secret, redirect URLs that the sign-in page cannot use, and apps that admit users whom they would not register. Refuses nothing.
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
    ...(input.allowed_redirect_urls ? warnOfPrefixes(after) : []),
    ...warnOfLostSecrets(before?.webhooks ?? [], input.webhooks ?? []),
  ]
}

/** The sign-in page compares a redirect URL character by character, so it uses no entry that ends in `*`. */
function warnOfPrefixes({ allowed_redirect_urls: urls }: App): z.output<typeof prefixesWarning>[] {
  if (urls.length === 0 || urls.some((url) => !url.endsWith('*'))) return []
  const message = 'all redirect URLs end in *, so the sign-in page cannot lead anybody to this app; add the exact URL'
  return [{ code: 'redirect_urls_prefixes_only' as const, message }]
}

/** Of webhooks with another name or URL that leave out their secret: the stored one belongs to the old name and URL. */
function warnOfLostSecrets(
  before: readonly StoredWebhook[],
  input: NonNullable<AppInput['webhooks']>,
): z.output<typeof lostSecretWarning>[] {
  const known = new Set(before.map(webhookKey))
  const kept = new Set(input.map(webhookKey))
  const lost = before.filter((webhook) => webhook.secret_box !== null && !kept.has(webhookKey(webhook)))
  return input
    .filter((webhook) => webhook.secret === undefined && !known.has(webhookKey(webhook)))
    .flatMap(({ name, url }) => {
      const renamed = lost.find((webhook) => webhook.url === url)
      const message = lost.some((webhook) => webhook.name === name)
        ? `deliveries of ${name} to its new URL are not signed: the stored secret belongs to the old URL`
        : renamed && `deliveries of ${name} are not signed: the stored secret belongs to its old name, ${renamed.name}`
      return message === undefined ? [] : [{ code: 'webhook_secret_lost' as const, webhook: name, message }]
    })
}
