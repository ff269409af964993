import { type Api, bodyOf, pages, readAll } from '../api/api-client.ts'
import { type GlobalInput, globalOptions, type Named, type Option } from '../command-line/options.ts'
import type { World } from '../terminal/io.ts'
import { counted } from '../text/counted.ts'
import { escapeControls } from '../text/escape-controls.ts'
import type { Command } from '../tools/command.ts'
import { createTools } from '../tools/create-tools.ts'
import { type Candidate, complete } from './complete.ts'

/** Leaves out names from the service that a shell would read as more than one word. */
const plainWord = /^[\w=.:@/-]+$/

/** How long TAB waits for the service, in seconds. */
const patience = '2'

/** Prints lines for the completion scripts: a word, a tab and its description, or `:files`. Prints nothing on a failure. */
export async function answerShell(
  words: readonly string[],
  world: World,
  { commands, nouns }: { commands: readonly Command[]; nouns: Record<string, string> },
): Promise<void> {
  const print = (line: string) => void world.stdout.write(`${line}\n`)
  const current = words.at(-1) ?? ''
  try {
    const completion = complete(words, commands, nouns)
    if (completion.kind === 'files') return print(':files')
    const candidates = completion.kind === 'words' ? completion.candidates : await ask(completion, words, world)
    for (const { value, about } of candidates)
      if (value.startsWith(current) && plainWord.test(value))
        print(about === undefined ? value : `${value}\t${escapeControls(about)}`)
  } catch {
    // A message would end up in the middle of the command line that is being typed.
  }
}

async function ask(
  { kind, prefix }: { kind: Named; prefix: string },
  words: readonly string[],
  world: World,
): Promise<Candidate[]> {
  const silent = { ...world, stderr: Object.assign(Object.create(world.stderr), { write: () => true }) }
  // Completion offers nothing rather than wait for a retry.
  const impatient = { ...silent, sleep: () => Promise.reject(new Error('no time')) }
  const tools = createTools(impatient, { ...unset(), ...connectionOf(words), quiet: true, timeout: patience } as GlobalInput)
  if (kind === 'contexts') {
    return Object.entries(tools.contexts.read().contexts).map(([name, { base_url }]) => ({
      value: prefix + name,
      about: base_url,
    }))
  }
  const found = await askNames(kind, tools.api, words.at(-1)!.slice(prefix.length))
  return found.map(({ value, ...rest }) => ({ value: prefix + value, ...rest }))
}

function unset(): Record<string, unknown> {
  const entries = Object.entries<Option>(globalOptions).map(([key, { kind }]) => [key, kind === 'off' ? true : undefined])
  return Object.fromEntries(entries)
}

/** The connection flags among the words typed so far. */
function connectionOf(words: readonly string[]): Partial<GlobalInput> {
  const given = (flag: string) => {
    const index = words.indexOf(flag)
    return index === -1 ? words.find((word) => word.startsWith(`${flag}=`))?.slice(flag.length + 1) : words[index + 1]
  }
  return { context: given('--context'), baseUrl: given('--base-url'), tokenFile: given('--token-file') }
}

/** TAB offers at most this many. */
const most = 200

/** Asks the service for names. If it can search, asks only for those that contain what was typed. */
async function askNames(kind: Exclude<Named, 'contexts'>, api: Api, typed: string): Promise<Candidate[]> {
  return sources[kind](api, typed === '' ? {} : { q: typed })
}

type Source = (api: Api, search: { q?: string }) => Promise<Candidate[]>

const sources: Record<Exclude<Named, 'contexts'>, Source> = {
  apps: async (api, search) => (await appsOf(api, search)).map(({ code, name }) => ({ value: code, about: name })),
  organizations: async (api, search) =>
    (await organizationsOf(api, search)).map(({ slug, name }) => ({ value: slug, about: name })),
  // The service searches by name, not by id.
  organizationIds: async (api) => (await organizationsOf(api, {})).map(({ id, slug }) => ({ value: id, about: slug })),
  pools: async (api) =>
    (await readAll(pages((query) => bodyOf(api.GET('/api/v1/admin/namespaces', { params: { query } })), most))).map(
      ({ namespace, user_count }) => ({ value: namespace, about: counted(user_count, 'user') }),
    ),
  providers: async (api) =>
    (await readAll(pages((query) => bodyOf(api.GET('/api/v1/admin/sso-providers', { params: { query } })), most))).map(
      ({ code, issuer }) => ({ value: code, about: issuer }),
    ),
  roles: async (api) =>
    (await readAll(pages((query) => bodyOf(api.GET('/api/v1/admin/roles', { params: { query } })), most))).map(
      ({ code, name }) => ({
        value: code,
        about: name,
      }),
    ),
  async services(api) {
    const permissions = pages((query) => bodyOf(api.GET('/api/v1/admin/permissions', { params: { query } })), most)
    const [apps, registered] = await Promise.all([appsOf(api, {}), readAll(permissions)])
    const names = new Set([...apps.flatMap(({ service_codes }) => service_codes), ...registered.map(({ service }) => service)])
    return [...names].sort().map((value) => ({ value }))
  },
}

function appsOf(api: Api, search: { q?: string }) {
  return readAll(pages((page) => bodyOf(api.GET('/api/v1/admin/apps', { params: { query: { ...search, ...page } } })), most))
}

function organizationsOf(api: Api, search: { q?: string }) {
  return readAll(
    pages((page) => bodyOf(api.GET('/api/v1/admin/organizations', { params: { query: { ...search, ...page } } })), most),
  )
}
