import type { Resolve } from '../adapters/guarded-dial.ts'
import type { PostAnswer } from '../adapters/post-webhook.ts'
import type { Deps } from '../deps.ts'
import { version } from '../lib/version.ts'
import { parseRetryAfter, plainChatEmail, plainChatText, signWebhook } from '../lib/webhook.ts'
import { OutboxMessage, type OutboxRow } from '../models/outbox-message.ts'
import type { AttemptOutcome } from '../resources/outbox/outbox.ts'
import { findWebhook, type Webhook } from '../resources/webhooks/webhooks.ts'
import type { Channel } from './outbox.ts'
import { webhookWaitsMs } from './retries.ts'

/** How webhooks are sent (docs/guard-a-backend/webhooks.md#attempts): 3 attempts, 5 seconds each. */
export function createWebhookChannel(network: { resolve?: Resolve; timeoutMs: number } = { timeoutMs: 5_000 }): Channel {
  return {
    atOnce: 512,
    atOncePerDestination: 64,
    waitsMs: webhookWaitsMs,
    async attempt(deps, message) {
      const webhook = await findWebhook(deps, message)
      if (!webhook) return { result: 'failed', error: 'the app no longer has this webhook', isFinal: true }
      if (!webhook.enabled) return { result: 'failed', error: 'the webhook is disabled', isFinal: true }
      await noteUrl(deps, message, webhook)
      const url = new URL(webhook.url)
      const body = isChatUrl(url, deps.config.chatWebhookHosts)
        ? JSON.stringify(chatMessage(url, JSON.parse(message.payload)))
        : message.payload
      const headers = headersOf(deps, message, webhook, body)
      const { webhookAllowPrivate: allowPrivate } = deps.config
      // Loaded with the first webhook, because its HTTP client takes 3 MB.
      const { postWebhook } = await import('../adapters/post-webhook.ts')
      const { resolveOnce } = await import('../adapters/guarded-dial.ts')
      return outcomeOf(deps, await postWebhook({ url, headers, body, allowPrivate, resolve: resolveOnce, ...network }))
    },
  }
}

/** A delivery goes to the current URL of the webhook, and the row records that URL. */
async function noteUrl(deps: Deps, message: OutboxRow, { url }: Webhook): Promise<void> {
  if (url === message.destination) return
  await OutboxMessage.setDestination(deps.db, message, url)
}

function headersOf(deps: Deps, { id }: OutboxRow, { secret }: Webhook, body: string): Record<string, string> {
  const timestamp = Math.floor(deps.clock() / 1_000)
  return {
    'content-type': 'application/json',
    'user-agent': `gatehouse/${version}`,
    'X-service-Event': 'user.registered',
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    ...(secret === undefined ? {} : { 'webhook-signature': signWebhook(secret, { id, timestamp, body }) }),
  }
}

function outcomeOf(deps: Deps, { status, retryAfter }: PostAnswer): AttemptOutcome {
  if (status >= 200 && status < 300) return { result: 'delivered', status }
  const redirects = status >= 300 && status < 400 ? '; redirects are not followed' : ''
  const retryAfterMs = parseRetryAfter(retryAfter, deps.clock())
  return {
    result: 'failed',
    status,
    error: `answered ${status}${redirects}`,
    isFinal: status === 410,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  }
}

const discordHosts = ['discord.com', 'discordapp.com']
const chatHosts = ['hooks.slack.com', 'chat.googleapis.com', ...discordHosts]

/** Microsoft Teams has a host for each customer. */
const teamsHosts = '.webhook.office.com'

/** Whether a URL is an incoming webhook of a chat service, by its host. `added` are those of AUTH_CHAT_WEBHOOK_HOSTS. */
export function isChatUrl(url: URL, added: readonly string[]): boolean {
  const host = hostOf(url)
  if (host.endsWith(teamsHosts)) return true
  return [...chatHosts, ...added.map((each) => each.toLowerCase())].some((each) => each === host || each === url.host)
}

/** A host with a trailing dot is the same host. */
function hostOf({ hostname }: URL): string {
  return hostname.replace(/\.$/, '')
}

interface Event {
  test?: boolean
  app: { name: string }
  user: { email: string; first_name: string | null; last_name: string | null }
  organization: { name: string } | null
}

/** The summary that a chat service gets instead of the event. Text from users cannot become a mention, a link or markup in it. */
export function chatMessage(url: URL, event: Event): Record<string, string> {
  const text = summaryOf(event)
  return discordHosts.includes(hostOf(url)) ? { text, content: text } : { text }
}

function summaryOf({ test, app, user, organization }: Event): string {
  const name = plainChatText([user.first_name, user.last_name].filter((part) => part !== null).join(' '))
  const parts = [name, plainChatEmail(user.email), organization && `organization ${plainChatText(organization.name)}`]
  const summary = `New user in ${plainChatText(app.name)}: ${parts.filter(Boolean).join(', ')}`
  return test ? `This is a test, no user registered. ${summary}` : summary
}
