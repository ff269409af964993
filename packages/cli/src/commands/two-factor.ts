import { writeFileSync } from 'node:fs'
import type { components } from '@gatehouse/sdk/admin'
import { type Api, bodyOf, pages } from '../api/api-client.ts'
import { Failure, systemCodeOf, usageFailure } from '../command-line/exit-codes.ts'
import { choice, count, flag, requiredText, text } from '../command-line/options.ts'
import { parseAppRef } from '../nouns/app-ref.ts'
import { list, record } from '../output/render.ts'
import { command } from '../tools/command.ts'
import type { Tools } from '../tools/create-tools.ts'
import { askForCode, readSecrets } from '../tools/read-secrets.ts'

const attempts = 3

export const setUpTwoFactor = command({
  path: 'two-factor setup',
  options: { svg: text('FILE', 'Write the QR code to this new file instead of the terminal; only you can read it') },
  summary: 'Turn on your second factor',
  description:
    'Shows a QR code for an authenticator app, asks for the code that the app then shows, and prints ten recovery codes. ' +
    'Needs a terminal. ' +
    'Asks for the password unless you signed in during the last 10 minutes. From then on, every login asks for a code.',
  examples: ['two-factor setup', 'two-factor setup --svg qr.svg', 'two-factor setup --json > recovery-codes.json'],
  async run(tools, { svg }) {
    const { api, io, settings } = tools
    if (!io.canAsk && !settings.dryRun)
      throw usageFailure('a terminal is required, to ask for the code of the authenticator app', 'nothing was done')
    const { secret, otpauth_url } = await begin(tools)
    await showSeed(tools, otpauth_url, secret, svg)
    const { recovery_codes } = await activate(tools, api)
    io.note('two-factor is on. Keep these codes where you keep passwords: each works for one login without the app')
    io.note('they are not shown again')
    if (svg !== undefined) io.note(`delete ${svg}: anyone who scans it has your second factor`)
    return { kind: 'report', value: { recovery_codes }, parts: recovery_codes }
  },
})

/** Asks for the password if the service says that the last login is too long ago. */
async function begin({ api, prompt }: Tools): Promise<components['schemas']['TwoFactorSetUp']> {
  try {
    return await bodyOf(api.POST('/api/v1/auth/2fa/setup', { body: {} }))
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'fresh_login_required') throw error
  }
  const password = await prompt.hidden('Password:')
  try {
    return await bodyOf(api.POST('/api/v1/auth/2fa/setup', { body: { password } }))
  } catch (error) {
    throw refused(error) ?? error
  }
}

async function showSeed({ io }: Tools, url: string, secret: string, svg: string | undefined): Promise<void> {
  const { renderSVG, renderUnicodeCompact } = await import('uqr')
  if (svg === undefined) {
    io.complain('scan this with an authenticator app:')
    io.picture(renderUnicodeCompact(url, { border: 2 }).split('\n'))
  } else {
    writeNew(svg, renderSVG(url))
    io.complain(`scan ${svg} with an authenticator app`)
  }
  io.complain(`or type this secret into it: ${secret}`)
}

/** Refuses an existing file: it would keep its mode, and others might read it. */
function writeNew(file: string, content: string): void {
  try {
    writeFileSync(file, content, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    const isThere = systemCodeOf(error) === 'EEXIST'
    throw new Failure(isThere ? 'conflict' : 'invalid', isThere ? `${file} already exists` : `cannot write ${file}: ${error}`, {
      code: isThere ? 'file_exists' : 'file_unwritable',
      hint: 'two-factor is still off',
    })
  }
}

async function activate({ io, prompt }: Tools, api: Api): Promise<components['schemas']['RecoveryCodes']> {
  for (let attempt = 1; ; attempt += 1) {
    const code = await prompt.text('Code that the app shows:')
    try {
      return await bodyOf(api.POST('/api/v1/auth/2fa/activate', { body: { code } }))
    } catch (error) {
      const failure = refused(error)
      if (!failure || attempt === attempts) throw failure ?? error
      io.complain('wrong code; a code is valid for 30 seconds, and the clock of the phone must be right')
    }
  }
}

export const disableTwoFactor = command({
  path: 'two-factor disable',
  options: {
    passwordStdin: flag('Read the password from standard input, and a two-factor or recovery code from its second line'),
  },
  summary: 'Turn off your second factor',
  description: 'Asks for the password, and for a code of the authenticator app or a recovery code.',
  examples: [
    'two-factor disable',
    'two-factor disable --password-stdin < password-and-code.txt',
    'two-factor disable --context production --json',
  ],
  async run(tools, { passwordStdin }) {
    const { password, code } = await readSecrets(tools, passwordStdin)
    const body = { password, code: code ?? (await askForCode(tools)) }
    try {
      await tools.api.POST('/api/v1/auth/2fa/disable', { body })
    } catch (error) {
      throw refused(error) ?? error
    }
    return record({ two_factor: false }, 'disabled')
  },
})

export const reportTwoFactor = command({
  path: 'two-factor report',
  options: {
    app: requiredText('CODE', 'App that the users can enter', { completes: 'apps' }),
    of: choice(['admins', 'everyone'], 'Only users with a global role besides base_user, or all. Default: everyone'),
    limit: count('N', 'Maximum number of users. Default: all'),
  },
  summary: 'List the users of an app who own neither a second factor nor a passkey',
  description:
    'These users have to set one up once the app requires it (authctl app update CODE --require-two-factor). Tell them before.',
  examples: [
    'two-factor report --app shop',
    'two-factor report --app authctl --of admins',
    'two-factor report --app shop --json',
  ],
  async run({ api }, { app, of, limit }) {
    const path = { appId: parseAppRef(app) }
    const found = pages(
      (page) =>
        bodyOf(
          api.GET('/api/v1/admin/apps/{appId}/without-second-factor', {
            params: { path, query: { ...page, ...(of === undefined ? {} : { of }) } },
          }),
        ),
      limit,
    )
    return list(
      found,
      ['email', ['pool', ({ namespace }) => namespace], ['roles', ({ roles }) => roles.join(' ')], 'user_id'],
      'everyone has one',
    )
  },
})

/** A failure for a refused password or code: the input is wrong, not the session, despite the 401. Undefined for other errors. */
export function refused(error: unknown): Failure | undefined {
  const isTyped = error instanceof Failure && /^invalid_(two_factor_code|credentials)$/.test(error.code)
  return isTyped ? new Failure('invalid', error.message, error) : undefined
}
