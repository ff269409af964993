import { assertContextName, type Context, type ContextFile, findContext } from '../command-line/contexts.ts'
import { Failure, usageFailure } from '../command-line/exit-codes.ts'
import { optionalPositional, positional, text, toggle } from '../command-line/options.ts'
import { normalizeBaseUrl } from '../command-line/settings.ts'
import { list, type Outcome, record } from '../output/render.ts'
import { askFor, confirmName } from '../terminal/prompt.ts'
import { command } from '../tools/command.ts'

/** The context of that name. Throws `context_not_found` if it does not exist. */
export function getContext(file: ContextFile, name: string): Context {
  const context = findContext(file, name)
  if (context) return context
  throw new Failure('notFound', `there is no context "${name}"`, {
    code: 'context_not_found',
    hint: 'authctl context list shows all contexts',
  })
}

/** A context as it is shown: never with its tokens. */
function viewContext(name: string, context: Context, current: string | null, now: number) {
  const { base_url, email, tokens } = context
  return {
    name,
    current: name === current,
    base_url,
    email,
    protected: context.protected ?? false,
    signed_in: tokens !== null && tokens.refresh_expires_at > now,
    session_expires_at: tokens === null ? null : new Date(tokens.refresh_expires_at).toISOString(),
  }
}

export const listContexts = command({
  path: 'context list',
  summary: 'List the contexts',
  examples: ['context list', 'context list --json', 'context list -o ndjson'],
  options: {},
  lists: 'whole',
  async run({ contexts, now }) {
    const { current, contexts: known } = contexts.read()
    const rows = Object.entries(known).map(([name, context]) => viewContext(name, context, current, now()))
    async function* onePage() {
      yield rows.sort((a, b) => (a.name < b.name ? -1 : 1))
    }
    return list(
      onePage(),
      ['name', 'current', 'base_url', 'email', 'protected', 'signed_in'],
      'no contexts: authctl login creates one',
    )
  },
})

export const useContext = command({
  path: 'context use',
  options: { name: positional('NAME', 'Context', { completes: 'contexts' }) },
  summary: 'Choose the context that commands use',
  examples: ['context use production', 'context use default', 'context use production --dry-run'],
  async run({ contexts, settings, now }, { name }) {
    const read = contexts.read()
    const context = getContext(read, name)
    if (!settings.dryRun) {
      await contexts.change((file) => {
        getContext(file, name)
        file.current = name
      })
    }
    return record(viewContext(name, context, name, now()), read.current === name ? 'unchanged' : 'updated')
  },
})

export const showContext = command({
  path: 'context show',
  options: { name: optionalPositional('NAME', 'Context to show. Default: the one in use', { completes: 'contexts' }) },
  summary: 'Show a context, without its tokens',
  examples: ['context show', 'context show production', 'context show --json'],
  async run({ connect, contexts, now }, input) {
    const name = input.name ?? connect().contextName
    const file = contexts.read()
    return record({ ...viewContext(name, getContext(file, name), file.current, now()), file: contexts.path })
  },
})

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

export const deleteContext = command({
  path: 'context delete',
  options: { name: positional('NAME', 'Context', { completes: 'contexts' }) },
  summary: 'Forget a context and its tokens',
  description: 'The session at the service continues; to end it, run authctl logout first.',
  examples: ['context delete staging --confirm staging', 'context delete staging', 'context delete staging --dry-run'],
  confirms: 'name',
  async run(tools, { name }) {
    const { contexts, settings, now, io, prompt } = tools
    await confirmName({ settings, io, prompt }, name, `delete the context ${name}`)
    const file = contexts.read()
    const answer = record(viewContext(name, getContext(file, name), file.current, now()), 'deleted')
    if (settings.dryRun) return answer
    const current = await contexts.change((file) => {
      delete file.contexts[name]
      if (file.current === name) file.current = null
      return file.current
    })
    if (current === null) io.note('no context is in use now: authctl context use NAME')
    return answer
  },
})
