import { expect, test } from 'vitest'
import { chatMessage, isChatUrl } from '../../workers/send-webhook.ts'

test.each([
  'https://hooks.slack.com/services/T0/B0/x',
  'https://HOOKS.SLACK.COM/services',
  'https://hooks.slack.com./services',
  'https://hooks.slack.com:8443/services',
  'https://chat.googleapis.com/v1/spaces/x/messages?key=k',
  'https://discord.com/api/webhooks/1/x',
  'https://discordapp.com/api/webhooks/1/x',
  'https://contoso.webhook.office.com/webhookb2/x/IncomingWebhook/y/z',
  'https://CONTOSO.webhook.office.com.:8443/webhookb2/x',
  'http://chat.example.com/hook',
  'http://127.0.0.1:8065/hook',
])('%s is recognized as a chat service', (url) => {
  expect(isChatUrl(new URL(url), ['Chat.Example.com', '127.0.0.1:8065'])).toBe(true)
})

test.each([
  'https://slack.com/hooks',
  'https://evil-hooks.slack.com/',
  'https://hooks.slack.com.evil.example/',
  'https://evil.example/hooks.slack.com',
  'https://canary.discord.com/api/webhooks/1/x',
  'https://sub.chat.example.com/',
  'https://webhook.office.com/',
  'https://evilwebhook.office.com/',
  'https://contoso.webhook.office.com.evil.example/',
  'http://127.0.0.1:8066/hook',
])('%s is not a chat service', (url) => {
  expect(isChatUrl(new URL(url), ['chat.example.com', '127.0.0.1:8065'])).toBe(false)
})

const event = {
  app: { name: 'Shop' },
  user: { email: 'ada@example.com', first_name: 'Ada', last_name: null },
  organization: { name: 'Acme' },
}

test('a chat message is only a text, which Discord also gets as content', () => {
  const text = 'New user in Shop: Ada, ada@example.com, organization Acme'
  expect(chatMessage(new URL('https://hooks.slack.com/services'), event)).toEqual({ text })
  expect(chatMessage(new URL('https://contoso.webhook.office.com/webhookb2/x'), event)).toEqual({ text })
  for (const host of ['discord.com', 'discordapp.com']) {
    expect(chatMessage(new URL(`https://${host}/api/webhooks/1/x`), event)).toEqual({ text, content: text })
  }
})

test('a message names a nameless user by address, and a test message says that it is a test', () => {
  const nameless = { ...event, user: { ...event.user, first_name: null }, organization: null }
  const url = new URL('https://hooks.slack.com/services')
  expect(chatMessage(url, nameless)).toEqual({ text: 'New user in Shop: ada@example.com' })
  expect(chatMessage(url, { ...nameless, test: true })).toEqual({
    text: 'This is a test, no user registered. New user in Shop: ada@example.com',
  })
})

test('a message is never longer than Discord accepts', () => {
  const long = 'x'.repeat(200)
  const user = { email: `${'e'.repeat(60)}@${'d'.repeat(189)}.com`, first_name: long, last_name: long }
  const message = chatMessage(new URL('https://discord.com/'), {
    test: true,
    app: { name: long },
    user,
    organization: { name: long },
  })
  expect(message.content!.length).toBeLessThan(2_000)
})
