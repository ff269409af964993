import { parseEnv } from 'node:util'
import { bodyOf } from '../api/api-client.ts'
import { Failure, usageFailure } from '../command-line/exit-codes.ts'
import { choice, choiceWithStandard, flag, type Input, optionalPositional, text } from '../command-line/options.ts'
import { isOpenToAnyAddress, verifiedEmailsFix } from '../nouns/app-policy.ts'
import { parseAppRef } from '../nouns/app-ref.ts'
import { allPermissionsNote, appSettings, type PermissionScope } from '../nouns/app-settings.ts'
import { findUserId, userRefSyntax } from '../nouns/user-ref.ts'
import { type Framework, frameworks, renderPermissionFile } from '../onboarding/backend-files.ts'
import { readLocalSecret } from '../onboarding/development.ts'
import { mergeEnvironment, type Onboarding, onboard, renderEnvironment } from '../onboarding/onboard-steps.ts'
import { askFor, type Choice, confirmYes } from '../terminal/prompt.ts'
import { assertWritable, readIfThere } from '../terminal/write-file.ts'
import { command } from '../tools/command.ts'
import type { Tools } from '../tools/create-tools.ts'

const options = {
  code: optionalPositional('CODE', 'Code of the app, in kebab-case. It cannot be changed later', { completes: 'apps' }),
  name: text('NAME', 'Display name'),
  redirect: appSettings.redirect,
  autoGrant: appSettings.autoGrant,
  permissionScope: appSettings.permissionScope,
  emailDomain: appSettings.emailDomain,
  requireVerifiedEmail: appSettings.requireVerifiedEmail,
  user: text('USER', `First user to get access: ${userRefSyntax}`),
  // Not --env-file: Node itself would read that, anywhere on the command line.
  dotenv: text('FILE', 'File for the settings of its backend, such as .env; only you can read it'),
  permissionFile: text('FILE', 'File for a first list of its permissions, such as permissions.yaml'),
  framework: choice(frameworks, 'Framework of its backend; prints a code snippet that guards it'),
  ifExists: choiceWithStandard(['error', 'skip'], 'What to do if the app exists: fail, or continue with it unchanged', 'error'),
  dev: flag('For a service on this machine: asks nothing, and prints a token to call the backend with'),
  serviceFolder: text('FOLDER', 'With --dev: folder where the service was started. Default: the current one'),
}

export const onboardApp = command({
  path: 'app onboard',
  summary: 'Create an app and what its backend needs to start',
  description:
    'On a terminal, asks for everything that is not given. Without one, CODE and --name are required, and steps without an option ' +
    'are skipped. An empty value skips a step without asking. If the service refuses an answer, asks for that one again and keeps ' +
    'the others. Shows each step as a command. Other lines of the --dotenv file stay as they are. A setting in it that has ' +
    'another value, and an existing permission file, are replaced only after a yes, or with --yes. --dev works only with a service ' +
    'that runs on this machine and generated its own secret (npm start). It writes that secret and the token of a new service ' +
    'account to .env, creates dev@example.com, gives them access and signs them in. It continues with an existing app, and the ' +
    'default of --permission-scope is roles.',
  examples: [
    'app onboard',
    'app onboard shop --dev',
    'app onboard shop --name Shop --redirect https://shop.example.com/callback --user bob@example.com --dotenv .env',
  ],
  options,
  async run(tools, input) {
    const wanted = await (input.dev ? resolveForDevelopment : resolveOnboarding)(tools, input)
    return onboard(tools, wanted, await agreeToReplace(tools, wanted))
  },
})

/** With --dev, only CODE is required. Reads the secret first: without it, nothing may be changed. */
async function resolveForDevelopment(tools: Tools, input: Input<typeof options>): Promise<Onboarding> {
  const code = input.code || (await askFor(tools, 'CODE', `${options.code.about}:`))
  const secret = await readLocalSecret(tools, input.serviceFolder ?? '.')
  const existing = await findApp(tools, code)
  const { redirect, autoGrant, emailDomain, requireVerifiedEmail, permissionScope = 'roles' } = input
  const envFile = input.dotenv || '.env'
  const kept = parseEnv(readIfThere(envFile) ?? '')
  return {
    code: existing?.code ?? code,
    existing,
    settings: existing
      ? { name: existing.name }
      : { name: input.name || code, redirect, autoGrant, emailDomain, requireVerifiedEmail, permissionScope },
    user: input.user ? await findUser(tools, input.user) : undefined,
    envFile,
    permissionFile: input.permissionFile || undefined,
    framework: input.framework,
    // Reuses the service account of an earlier run, so that running it again changes nothing.
    development: {
      secret,
      serviceToken: existing && kept.SERVICE_APP_ID === existing.id ? kept.SERVICE_ACCOUNT_TOKEN : undefined,
    },
  }
}

/** Gathers all input before anything is changed. */
async function resolveOnboarding(tools: Tools, input: Input<typeof options>): Promise<Onboarding> {
  assertComplete(tools, input)
  const named = input.user ? await findUser(tools, input.user) : undefined
  const code = input.code || (await askCode(tools))
  const existing = await findApp(tools, code)
  if (existing) await agreeToGoOn(tools, code, input.ifExists)
  const settings = existing ? { name: existing.name } : await resolveSettings(tools, input)
  if (existing && isOpenToAnyAddress(existing))
    tools.io.note(`anyone can register with an address that is not theirs: ${verifiedEmailsFix(existing)}`)
  return {
    code: existing?.code ?? code,
    existing,
    settings,
    user: named ?? (await askUser(tools, input.user)),
    envFile: await askFile(tools, input.dotenv, 'File for the settings of its backend, such as .env (or none):'),
    permissionFile: await askFile(
      tools,
      input.permissionFile,
      'File for a first list of its permissions, such as permissions.yaml (or none):',
    ),
    framework: input.framework ?? (await askFramework(tools)),
    ...(tools.io.canAsk ? { correct: (refusal, wanted) => correct(tools, refusal, wanted) } : {}),
  }
}

/** Asks again until the answer is accepted: a typo must not cost the other answers. */
async function askUntil<T>({ io }: Tools, ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask()
    } catch (thrown) {
      if (!io.canAsk || !(thrown instanceof Failure) || !['notFound', 'invalid'].includes(thrown.ending)) throw thrown
      noteFailure(io, thrown)
    }
  }
}

function noteFailure(io: Tools['io'], { message, hint }: Failure): void {
  io.note([message, ...(hint ? [hint] : [])].join('; '))
}

function askCode(tools: Tools): Promise<string> {
  return askUntil(tools, async () => parseAppRef(await askFor(tools, 'CODE', `${options.code.about}:`)))
}

function askUser(tools: Tools, given: string | undefined): Promise<Onboarding['user']> {
  return askUntil(tools, async () => {
    const ref = await askOrNone(tools, given, `${options.user.about} (or none):`)
    return ref === undefined ? undefined : findUser(tools, ref)
  })
}

/** Looks up an id too: the grant would refuse one that nobody has, but only once the app is there. */
async function findUser({ api }: Tools, ref: string): Promise<NonNullable<Onboarding['user']>> {
  const id = await findUserId(api, ref)
  if (id === ref.toLowerCase()) await bodyOf(api.GET('/api/v1/admin/users/{userId}', { params: { path: { userId: id } } }))
  return { ref, id }
}

function askFile(tools: Tools, given: string | undefined, question: string): Promise<string | undefined> {
  if (given !== undefined) return askOrNone(tools, given, question)
  return askUntil(tools, async () => {
    const file = await askOrNone(tools, given, question)
    if (file !== undefined) assertWritable(file)
    return file
  })
}

/** How each member that the service may refuse is asked for again. */
const corrections: Record<string, (tools: Tools, wanted: Onboarding) => Promise<Onboarding>> = {
  code: async (tools, wanted) => ({ ...wanted, code: await askCode(tools) }),
  name: async (tools, wanted) => withSettings(wanted, { name: await tools.prompt.text(`${options.name.about}:`) }),
  allowed_redirect_urls: async (tools, wanted) => withSettings(wanted, { redirect: await askRedirects(tools) }),
  allowed_email_domains: async (tools, wanted) =>
    withSettings(wanted, { emailDomain: await askList(tools, `${options.emailDomain.about} (or none):`) }),
}

function withSettings(wanted: Onboarding, settings: Partial<Onboarding['settings']>): Onboarding {
  return { ...wanted, settings: { ...wanted.settings, ...settings } }
}

/** Asks again for the answers that the service refused, and for no others. */
async function correct(tools: Tools, refusal: Failure, wanted: Onboarding): Promise<Onboarding> {
  const refused =
    refusal.code === 'app_code_taken' ? ['code'] : [...new Set(refusal.errors.map(({ path }) => path.split('.')[0]!))]
  if (refused.length === 0 || !refused.every((member) => Object.hasOwn(corrections, member))) throw refusal
  // The hint on a taken code names flags for an app that is already there. Here the next answer is the way out.
  tools.io.note(refusal.message)
  let corrected = wanted
  for (const member of refused) corrected = await corrections[member]!(tools, corrected)
  return corrected
}

/** Without a terminal, throws one `usage` failure that names everything missing. */
function assertComplete({ io }: Tools, { code, name, ifExists }: Input<typeof options>): void {
  if (io.canAsk) return
  const missing = [...(code ? [] : ['CODE']), ...(name || ifExists === 'skip' ? [] : ['--name'])]
  if (missing.length > 0) throw usageFailure(`${missing.join(' and ')} ${missing.length > 1 ? 'are' : 'is'} required`)
}

async function findApp({ api }: Tools, code: string): Promise<Onboarding['existing']> {
  try {
    return await bodyOf(api.GET('/api/v1/admin/apps/{appId}', { params: { path: { appId: parseAppRef(code) } } }))
  } catch (error) {
    if (error instanceof Failure && error.code === 'not_found') return undefined
    throw error
  }
}

async function agreeToGoOn({ io, prompt }: Tools, code: string, ifExists: 'error' | 'skip'): Promise<void> {
  if (ifExists === 'skip') return
  if (!io.canAsk) {
    throw new Failure('conflict', `the app ${code} already exists; nothing was done`, {
      code: 'app_code_taken',
      hint: '--if-exists skip continues with it unchanged',
    })
  }
  if (!(await prompt.yesOrNo(`The app ${code} already exists. Continue with it unchanged?`)))
    throw new Failure('declined', 'declined; nothing was done', { code: 'declined' })
}

async function resolveSettings(
  tools: Tools,
  { name, redirect, autoGrant, permissionScope, emailDomain, requireVerifiedEmail }: Input<typeof options>,
): Promise<Onboarding['settings']> {
  const { io, prompt } = tools
  const given = name || (await askFor(tools, '--name', `${options.name.about}:`))
  const redirects = redirect ?? (await askRedirects(tools))
  const grantsItself = autoGrant ?? (io.canAsk ? await prompt.yesOrNo('Give access to every user who registers?') : undefined)
  return {
    name: given,
    redirect: redirects,
    autoGrant: grantsItself,
    permissionScope: permissionScope ?? (await askPermissionScope(tools)),
    emailDomain,
    requireVerifiedEmail: requireVerifiedEmail ?? (await suggestVerification(tools, grantsItself ? emailDomain : undefined)),
  }
}

const scopes: Choice<PermissionScope>[] = [
  { value: 'roles', description: 'Recommended: a token carries the permissions that the roles of its user hold.' },
  {
    value: 'services',
    description: 'It carries every permission of the services of the app, so a guard on a permission keeps no user out.',
  },
]

async function askPermissionScope({ io, prompt }: Tools): Promise<PermissionScope | undefined> {
  if (io.canAsk) return prompt.choice('Which permissions do its tokens carry?', scopes)
  io.note(allPermissionsNote)
  return undefined
}

/** For an app that grants access by the domain of the address. Without verification, typing such an address is enough. */
async function suggestVerification({ io, prompt }: Tools, domains: readonly string[] = []): Promise<boolean | undefined> {
  const listed = domains.filter((domain) => domain !== '').join(' or ')
  if (listed === '') return undefined
  if (io.canAsk)
    return prompt.yesOrNo(`Anyone can register with an address of ${listed}. Let in only users who have verified theirs?`)
  io.note(
    `anyone can register with an address of ${listed}; --require-verified-email lets in only users who have verified theirs`,
  )
  return undefined
}

function askRedirects(tools: Tools): Promise<string[] | undefined> {
  return askList(tools, 'Allowed redirect URLs (or none):')
}

async function askList(tools: Tools, question: string): Promise<string[] | undefined> {
  return (await askOrNone(tools, undefined, question))?.split(/[\s,]+/)
}

/** The given value, or the answer to a question on a terminal. Undefined for none. */
async function askOrNone({ io, prompt }: Tools, given: string | undefined, question: string): Promise<string | undefined> {
  if (given !== undefined || !io.canAsk) return given || undefined
  const typed = await prompt.text(question)
  return typed.toLowerCase() === 'none' ? undefined : typed
}

async function askFramework({ io, prompt }: Tools): Promise<Framework | undefined> {
  if (!io.canAsk) return undefined
  const choices = [...frameworks, 'none' as const].map((value) => ({ value }))
  const chosen = await prompt.choice('Which framework does its backend use?', choices)
  return chosen === 'none' ? undefined : chosen
}

/**
 * Asks before anything is done: about settings in the file that have another value, and about a permission file that would change.
 * Returns the files that may be replaced.
 */
async function agreeToReplace(
  tools: Tools,
  { existing, settings, code, envFile, permissionFile, development }: Onboarding,
): Promise<ReadonlySet<string>> {
  const agreed = new Set<string>()
  const asking = { settings: tools.settings, io: tools.io, prompt: tools.prompt }
  const before = envFile === undefined ? undefined : readIfThere(envFile)
  if (envFile !== undefined && before !== undefined) {
    // The id of an app that is not there yet differs from any.
    const app = existing ?? { id: '', code }
    const { changed } = mergeEnvironment(before, renderEnvironment(tools, app, development))
    if (changed.length > 0) await confirmYes(asking, `replace ${changed.join(', ')} in ${envFile}`)
    agreed.add(envFile)
  }
  const permissions = renderPermissionFile(existing ?? { code, name: settings.name, service_codes: [] })
  if (permissionFile !== undefined && ![undefined, permissions].includes(readIfThere(permissionFile))) {
    await confirmYes(asking, `replace ${permissionFile}`)
    agreed.add(permissionFile)
  }
  return agreed
}
