import { plainChatEmail, plainChatText } from '../../lib/chat-text.ts'

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
