import { assertContextName, type Context, findContext } from '../../command-line/contexts.ts'
import { usageFailure } from '../../command-line/exit-codes.ts'
import { positional, text, toggle } from '../../command-line/options.ts'
import { normalizeBaseUrl } from '../../command-line/settings.ts'
import { viewContext } from '../../nouns/view-context.ts'
import { type Outcome, record } from '../../output/output.ts'
import { askFor } from '../../terminal/prompt.ts'
import { command } from '../../tools/command.ts'

export const setContext = command({
  path: 'context set',
  options: {
    name: positional('NAME', 'Context to create or change', { completes: 'contexts' }),
    email: text('EMAIL', 'E-mail of the account that signs in there'),
    protected: toggle('Ask for the name of the context before a command writes there'),
  },
  summary: 'Create or change a context without signing in',
  description:
    'Its session is dropped when the address or the e-mail changes: a token of one service is never sent to another. In a protected ' +
    'context, a command that writes first asks for the name of the context; without a terminal it needs --context NAME and --yes.',
  examples: [
    'context set production --base-url https://auth.example.com',
    'context set production --base-url https://auth.example.com --email ada@example.com',
    'context set production --protected',
  ],
  async run(tools, { name, email, ...input }) {
    const { contexts, settings, now } = tools
    assertContextName(name)
    const existing = findContext(contexts.read(), name)
    if (existing && settings.baseUrl === undefined && email === undefined && input.protected === undefined)
      throw usageFailure('--base-url, --email or --protected is required', 'nothing was changed')
    const baseUrl =
      settings.baseUrl ?? existing?.base_url ?? normalizeBaseUrl(await askFor(tools, '--base-url', 'Address of the service:'))

    const change = (file: ReturnType<typeof contexts.read>) => {
      const before = findContext(file, name)
      const named = { base_url: baseUrl, email: email ?? before?.email ?? null }
      const isSame = before?.base_url === named.base_url && before.email === named.email
      const session: Context = isSame ? { ...before, ...named } : { ...named, tokens: null }
      const after = withProtection(session, input.protected ?? before?.protected ?? false)
      const outcome: Outcome = !before ? 'created' : JSON.stringify(before) === JSON.stringify(after) ? 'unchanged' : 'updated'
      file.contexts[name] = after
      file.current ??= name
      return record(viewContext(name, after, file.current, now()), outcome)
    }
    return settings.dryRun ? change(contexts.read()) : contexts.change(change)
  },
})

/** Leaves out `protected` when it is false, so that a context stored without the member counts as unchanged. */
function withProtection({ protected: _, ...context }: Context, isProtected: boolean): Context {
  return isProtected ? { ...context, protected: true } : context
}
