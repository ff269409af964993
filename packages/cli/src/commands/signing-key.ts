import { bodyOf } from '../api/api-client.ts'
import { flag } from '../command-line/options.ts'
import { list, rowsOf } from '../output/render.ts'
import { confirmYes } from '../terminal/prompt.ts'
import { command } from '../tools/command.ts'

export const listSigningKeys = command({
  path: 'signing-key list',
  options: {},
  summary: 'List the keys that sign ID tokens',
  description:
    'The current key signs. Clients already know the next one, and still accept those that were retired within the last hour. ' +
    'Access tokens have other keys: secret status, app signing.',
  examples: ['signing-key list', 'signing-key list -o csv', 'signing-key list --json'],
  async run({ api }) {
    const { items } = await bodyOf(api.GET('/api/v1/admin/signing-keys'))
    async function* page() {
      yield items
    }
    return list(page(), ['kid', 'stage', 'since', 'created_at'], 'no keys')
  },
})

/** How long clients may keep the list of keys. */
const cachedMs = 300_000

export const rotateSigningKeys = command({
  path: 'signing-key rotate',
  options: { compromised: flag('Replace all keys at once, since somebody else may have them') },
  summary: 'Let the next key sign ID tokens, and make another next one',
  description:
    'No request fails: clients know the next key already, and accept tokens of the old one while they live. With --compromised, no ' +
    'token of the old keys is accepted, and a client that does not look up unknown keys fails for up to five minutes.',
  examples: [
    'signing-key rotate --yes',
    'signing-key rotate --dry-run',
    'signing-key rotate --compromised --yes --reason "backup was stolen"',
  ],
  confirms: 'yes',
  async run(tools, { compromised }) {
    const { api, io, now } = tools
    const before = await bodyOf(api.GET('/api/v1/admin/signing-keys'))
    const stage = (name: string) => before.items.find((key) => key.stage === name)
    const next = stage('next')
    if (!compromised && next && now() - Date.parse(next.since) < cachedMs)
      io.note('the next key is younger than five minutes: a client that keeps the list of keys may not know it yet')
    await confirmYes(
      tools,
      compromised ? 'refuse everything that the keys of ID tokens have signed' : 'sign ID tokens with the next key',
    )
    const current = stage('current')
    const body = { compromised: compromised === true, ...(current && { current_kid: current.kid }) }
    const { items } = await bodyOf(api.POST('/api/v1/admin/signing-keys/rotate', { body }))
    return {
      kind: 'report',
      value: { items, outcome: 'rotated' },
      parts: [rowsOf(items, ['kid', 'stage', 'since', 'created_at'])],
    }
  },
})
