import type { components } from '@gatehouse/sdk/admin'
import { bodyOf, inTurn } from '../api/api-client.ts'
import { Failure } from '../command-line/exit-codes.ts'
import { secretHint, variablesOf } from '../nouns/app-environment.ts'
import { appBody } from '../nouns/app-settings.ts'
import { grantAccess } from '../nouns/grant-access.ts'
import { dotenvLines, type Outcome, type Result, rowsOf } from '../output/output.ts'
import { readIfThere, writeFile } from '../terminal/write-file.ts'
import { toCommandLine } from '../text/shell-words.ts'
import type { Tools } from '../tools/create-tools.ts'
import { type Framework, renderPermissionFile, snippetFor } from './backend-files.ts'

type App = components['schemas']['App']

/** What is to be done for an app; undefined leaves a step out. */
export interface Onboarding {
  code: string
  /** The app that is there already. */
  existing: App | undefined
  settings: Parameters<typeof appBody>[0] & { name: string }
  user: { ref: string; id: string } | undefined
  envFile: string | undefined
  permissionFile: string | undefined
  framework: Framework | undefined
}

export function renderEnvironment({ connect }: Tools, app: App): string {
  return `${dotenvLines(variablesOf(app, connect().baseUrl)).join('\n')}\n`
}

interface Step {
  step: string
  outcome: Outcome
}

/** What has been done so far. */
interface Journal {
  steps: Step[]
  /** What would have done the same. */
  commands: string[]
}

/** Does all of it; `replaceable` are the files that are there and may be replaced. A failure in the middle says what was done before. */
export async function onboard(tools: Tools, wanted: Onboarding, replaceable: ReadonlySet<string>): Promise<Result> {
  const journal: Journal = { steps: [], commands: [] }
  try {
    return await takeSteps(tools, { ...wanted, replaceable }, journal)
  } catch (error) {
    if (!(error instanceof Failure) || journal.steps.length === 0) throw error
    const { ending, message, code, requestId } = error
    const done = journal.steps.map(({ step, outcome }) => `${step} ${outcome}`).join(', ')
    throw new Failure(ending, message, {
      code,
      requestId,
      hint: `done before it: ${done}\n--if-exists skip goes on from there`,
      cause: error,
    })
  }
}

async function takeSteps(
  tools: Tools,
  wanted: Onboarding & { replaceable: ReadonlySet<string> },
  journal: Journal,
): Promise<Result> {
  const { io, settings } = tools
  const { code, existing, user, envFile, permissionFile, framework } = wanted
  let app = existing
  const create = async () => {
    app = await createApp(tools, wanted, journal)
  }
  if (settings.dryRun) {
    for (const file of [envFile, permissionFile]) if (file !== undefined) io.note(`${file} would be written (--dry-run)`)
  }
  if (existing) journal.steps.push({ step: `app ${code}`, outcome: 'unchanged' })
  await inTurn([...(existing ? [] : [create]), ...(user ? [() => grantFirst(tools, code, user, journal)] : [])])

  const { replaceable } = wanted
  const words = ['app', 'env', code]
  writeStep(tools, envFile, { content: renderEnvironment(tools, app!), journal, replaceable, words })
  writeStep(tools, permissionFile, { content: renderPermissionFile(app!), journal, replaceable })
  if (envFile !== undefined && !settings.dryRun) io.note(`${secretHint}; keep ${envFile} out of version control`)
  const next = permissionFile === undefined ? [] : [commandLine(tools, ['permission', 'register', '-f', permissionFile])]
  for (const line of next) io.note(`next, with the permissions that it has: ${line}`)
  const snippet = framework === undefined ? [] : snippetFor(framework)
  return {
    kind: 'report',
    value: { app: app!, ...journal, next, snippet: framework === undefined ? null : `${snippet.join('\n')}\n` },
    parts: [rowsOf(journal.steps, ['step', 'outcome']), ...(snippet.length > 0 ? ['', ...snippet] : [])],
  }
}

async function createApp(tools: Tools, { code, settings }: Onboarding, journal: Journal): Promise<App> {
  const body = { ...appBody(settings), code, name: settings.name }
  const app = await bodyOf(tools.planningApi.POST('/api/v1/admin/apps', { body }))
  note(tools, journal, { step: `app ${code}`, outcome: 'created' }, ['app', 'create', code, ...settingWords(settings)])
  return app
}

function settingWords(settings: Onboarding['settings']): string[] {
  const { name, redirect = [], autoGrant, emailDomain = [], requireVerifiedEmail, permissionScope } = settings
  const redirects = redirect.length > 0 ? ['--redirect', ...redirect] : []
  const domains = emailDomain.length > 0 ? ['--email-domain', ...emailDomain] : []
  const toggles = [...(autoGrant ? ['--auto-grant'] : []), ...(requireVerifiedEmail ? ['--require-verified-email'] : [])]
  const scope = permissionScope === undefined ? [] : ['--permission-scope', permissionScope]
  return ['--name', name, ...redirects, ...domains, ...toggles, ...scope]
}

async function grantFirst(
  tools: Tools,
  code: string,
  { id, ref }: NonNullable<Onboarding['user']>,
  journal: Journal,
): Promise<void> {
  const { reason } = tools.settings
  const body = reason === undefined ? {} : { reason }
  const { outcome } = await grantAccess(tools.planningApi, { userId: id, appId: code }, body)
  const words = ['grant', 'add', '--app', code, '--user', ref, ...(reason === undefined ? [] : ['--reason', reason])]
  note(tools, journal, { step: `grant to ${ref}`, outcome }, words)
}

/** Writes a file of the backend; with `words`, the command that prints the same, it holds secrets. */
function writeStep(
  tools: Tools,
  file: string | undefined,
  {
    content,
    journal,
    replaceable,
    words,
  }: { content: string; journal: Journal; replaceable: ReadonlySet<string>; words?: string[] },
): void {
  if (file === undefined || tools.settings.dryRun) return
  const outcome = readIfThere(file) === content ? 'unchanged' : 'written'
  if (outcome === 'written') writeFile(file, content, { isPrivate: words !== undefined, replaces: replaceable.has(file) })
  note(tools, journal, { step: file, outcome }, words, ` > ${toCommandLine([file])}`)
}

/** Keeps what was done and, where a command does it, shows that. */
function note(tools: Tools, { steps, commands }: Journal, step: Step, words?: string[], redirection = ''): void {
  steps.push(step)
  if (!words) return
  commands.push(commandLine(tools, words) + redirection)
  tools.io.note(`$ ${commands.at(-1)}`)
}

/** The command as it would have to be typed here, where another service than the current context's was named. */
function commandLine({ connect, contexts }: Tools, words: string[]): string {
  const { contextName, context, baseUrl } = connect()
  const named = contextName === (contexts.read().current ?? 'default') ? [] : ['--context', contextName]
  const addressed = context?.base_url === baseUrl ? [] : ['--base-url', baseUrl]
  return toCommandLine(['authctl', ...words, ...named, ...addressed])
}
