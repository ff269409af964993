import { findContext } from '../command-line/contexts.ts'
import { flag } from '../command-line/options.ts'
import { normalizeBaseUrl } from '../command-line/settings.ts'
import { type Result, record } from '../output/output.ts'
import { command } from '../tools/command.ts'
import type { Tools } from '../tools/create-tools.ts'

export const logout = command({
  path: 'logout',
  options: { all: flag('End all of your sessions, in every app and on every machine') },
  summary: 'End the session of a context',
  description:
    'Deletes the tokens on this machine even if the service cannot be reached. ' +
    'With --all, deletes them only after the service has ended the sessions, because another try needs them.',
  examples: ['logout', 'logout --context production', 'logout --all'],
  async run(tools, { all }) {
    return all ? endAllSessions(tools) : endOwnSession(tools)
  },
})

async function endAllSessions(tools: Tools): Promise<Result> {
  const { contextName, context, baseUrl, token } = tools.connect()
  await tools.api.POST('/api/v1/auth/logout-all')
  // A token from AUTHCTL_TOKEN or --token-file may belong to another user than the context.
  if (token !== undefined) return record({ context: null, base_url: baseUrl, email: null }, 'signed_out')
  await tools.contexts.change((file) => {
    const stored = findContext(file, contextName)
    if (stored) stored.tokens = null
  })
  return record({ context: contextName, base_url: baseUrl, email: context?.email ?? null }, 'signed_out')
}

async function endOwnSession(tools: Tools): Promise<Result> {
  const { contexts, settings } = tools
  const { contextName, context } = tools.connect()
  const answer = { context: contextName, base_url: context?.base_url ?? null, email: context?.email ?? null }
  if (!context?.tokens) return record(answer, 'unchanged')
  if (settings.dryRun) await endSession(tools, context.base_url, context.tokens.refresh_token)
  const ended = await contexts.change((file) => {
    const stored = findContext(file, contextName)
    const tokens = stored?.tokens
    if (stored) stored.tokens = null
    return tokens
  })
  if (ended) await endSession(tools, context.base_url, ended.refresh_token)
  return record(answer, 'signed_out')
}

/** Ends the session at the service that it belongs to, whatever --base-url says. */
async function endSession({ anonymousApi }: Tools, baseUrl: string, refreshToken: string): Promise<void> {
  await anonymousApi(normalizeBaseUrl(baseUrl)).POST('/api/v1/auth/logout', { body: { refresh_token: refreshToken } })
}
