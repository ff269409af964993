import { readAll } from '../api/api-client.ts'
import { Failure } from '../command-line/exit-codes.ts'
import { count, requiredText } from '../command-line/options.ts'
import { userActionCommand, userSubject } from '../nouns/user-commands.ts'
import {
  getUserDetail,
  identitiesOf,
  isAbsent,
  passkeysOf,
  sessionColumns,
  sessionsOf,
  trustedBrowsersOf,
} from '../nouns/user-records.ts'
import { findUserId } from '../nouns/user-ref.ts'
import { list, record } from '../output/render.ts'
import { confirmYes } from '../terminal/prompt.ts'
import { isUuid } from '../text/uuid.ts'
import { command } from '../tools/command.ts'

export const unlockUser = userActionCommand({
  path: 'user unlock',
  summary: 'Lift the lockout of a user',
  description: 'Clears the failed logins, whether or not they led to a lock.',
  examples: ['user unlock bob@example.com', 'user unlock bob@example.com@@staff --json', 'user unlock bob@example.com --dry-run'],
  outcome: 'unlocked',
  advice: (user) => `authctl grant explain --app CODE --user ${user} says whether anything else keeps them out`,
  act: (api, path) => api.POST('/api/v1/admin/users/{userId}/unlock', { params: { path } }),
})

export const logoutUser = userActionCommand({
  path: 'user logout',
  summary: 'End all sessions of a user, in every app',
  description: 'The user may sign in again at once; user suspend prevents it.',
  examples: ['user logout bob@example.com', 'user logout bob@example.com@@staff --json', 'user logout bob@example.com --dry-run'],
  outcome: 'logged_out',
  act: (api, path) => api.POST('/api/v1/admin/users/{userId}/logout', { params: { path } }),
})

export const resetTwoFactor = command({
  path: 'user reset-two-factor',
  options: { user: userSubject },
  summary: 'Remove the second factor of a user',
  description:
    'For a user who lost the device and the recovery codes. Make sure that the request comes from them: from then on the password is ' +
    'enough to sign in, until they set up another factor. Sessions continue, also on a lost device; user logout ends them. The user is ' +
    'notified by mail. Repeating it changes nothing.',
  examples: [
    'user reset-two-factor bob@example.com --yes',
    'user reset-two-factor bob@example.com@@staff --reason "lost phone, called back"',
    'user reset-two-factor bob@example.com --dry-run',
  ],
  confirms: 'yes',
  async run(tools, { user }) {
    const { api } = tools
    await confirmYes(tools, `remove the second factor of ${user}`)
    const { id, email, two_factor } = await getUserDetail(api, user)
    const of = { user_id: id, email }
    if (!two_factor) return record(of, 'unchanged')
    try {
      await api.DELETE('/api/v1/admin/users/{userId}/2fa', { params: { path: { userId: id } } })
    } catch (error) {
      if (!isAbsent(error)) throw error
      return record(of, 'unchanged')
    }
    tools.io.note(`sessions on the lost device continue: authctl user logout ${user} ends them all`)
    tools.io.note('too many wrong codes may have locked the account as well: authctl user unlock lifts the lock')
    return record(of, 'reset')
  },
})

export const listSessions = command({
  path: 'user session list',
  options: { user: userSubject, limit: count('N', 'Maximum number of sessions. Default: all') },
  summary: 'List the active sessions of a user, newest first',
  examples: [
    'user session list bob@example.com',
    'user session list bob@example.com@@staff --limit 10',
    'user session list bob@example.com --json',
  ],
  async run({ api }, { user, limit }) {
    return list(sessionsOf(api, await findUserId(api, user), limit), sessionColumns, 'no sessions')
  },
})

function assertId(noun: 'session' | 'browser', typed: string): void {
  if (isUuid(typed)) return
  throw new Failure('invalid', `"${typed}" is not the id of a ${noun}`, {
    code: `invalid_${noun}`,
    hint: `authctl user ${noun} list USER shows the ids`,
  })
}

/** Whether there was something to remove. */
async function wasThere(removal: Promise<unknown>): Promise<boolean> {
  try {
    await removal
    return true
  } catch (error) {
    if (!isAbsent(error)) throw error
    return false
  }
}

export const endSession = command({
  path: 'user session end',
  options: {
    user: userSubject,
    session: requiredText('ID', 'Id of the session, as user session list and token trace show it'),
  },
  summary: 'End one session of a user',
  description: 'Its tokens stop working at once; other sessions continue. user logout ends all. Repeating it changes nothing.',
  examples: [
    'user session end bob@example.com --session 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f',
    'user session end bob@example.com --session 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f --reason "token in a log"',
    'user session end bob@example.com --session 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f --dry-run',
  ],
  async run({ api }, { user, session }) {
    assertId('session', session)
    const path = { userId: await findUserId(api, user), sessionId: session }
    const answer = { user_id: path.userId, session_id: session }
    const ending = api.DELETE('/api/v1/admin/users/{userId}/sessions/{sessionId}', { params: { path } })
    if (await wasThere(ending)) return record(answer, 'ended')
    // Either the session has ended, or the user does not exist.
    await api.GET('/api/v1/admin/users/{userId}', { params: { path: { userId: path.userId } } })
    return record(answer, 'unchanged')
  },
})

export const listIdentities = command({
  path: 'user identity list',
  options: { user: userSubject, limit: count('N', 'Maximum number of logins. Default: all') },
  summary: 'List the third-party logins of a user',
  examples: [
    'user identity list bob@example.com',
    'user identity list bob@example.com@@staff -o ndjson',
    'user identity list bob@example.com --json',
  ],
  async run({ api }, { user, limit }) {
    const identities = identitiesOf(api, await findUserId(api, user), limit)
    return list(identities, ['provider', ['linked_at', ({ created_at }) => created_at], 'id'], 'no identities')
  },
})

export const unlinkIdentity = command({
  path: 'user identity unlink',
  options: {
    user: userSubject,
    identity: requiredText('ID', 'Id of the identity, or code of its provider'),
  },
  summary: 'Unlink a user from a provider',
  description:
    'Sessions continue; user logout ends them. A user without a password can set one with a reset mail. Repeating it changes nothing.',
  examples: [
    'user identity unlink bob@example.com --identity google --yes',
    'user identity unlink bob@example.com --identity 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f',
    'user identity unlink bob@example.com --identity google --dry-run',
  ],
  confirms: 'yes',
  async run(tools, { user, identity }) {
    const { api } = tools
    await confirmYes(tools, `unlink ${user} from ${identity}`)
    const userId = await findUserId(api, user)
    const all = await readAll(identitiesOf(api, userId))
    const [found, ...others] = all.filter(({ id, provider }) => id === identity || provider === identity)
    if (others.length > 0) {
      const candidates = all.map(({ id, provider }) => `${id}  ${provider}`).join('\n')
      throw new Failure('invalid', `${user} has several identities of ${identity}`, {
        code: 'ambiguous_identity',
        hint: `choose one of these by its id:\n${candidates}`,
      })
    }
    const answer = { user_id: userId, identity: found?.id ?? identity, provider: found?.provider ?? null }
    if (!found) return record(answer, 'unchanged')
    const path = { userId, identityId: found.id }
    const unlinking = api.DELETE('/api/v1/admin/users/{userId}/identities/{identityId}', { params: { path } })
    return record(answer, (await wasThere(unlinking)) ? 'unlinked' : 'unchanged')
  },
})

export const listTrustedBrowsers = command({
  path: 'user browser list',
  options: { user: userSubject, limit: count('N', 'Maximum number of browsers. Default: all') },
  summary: 'List the browsers that do not ask a user for the second factor',
  examples: [
    'user browser list bob@example.com',
    'user browser list bob@example.com@@staff --limit 10',
    'user browser list bob@example.com --json',
  ],
  async run({ api }, { user, limit }) {
    const browsers = trustedBrowsersOf(api, await findUserId(api, user), limit)
    return list(browsers, ['ip', 'proven_at', 'expires_at', 'user_agent', 'id'], 'no trusted browsers')
  },
})

export const revokeTrustedBrowser = command({
  path: 'user browser revoke',
  options: { user: userSubject, browser: requiredText('ID', 'Id of the browser, as user browser list shows it') },
  summary: 'Ask a user for the second factor in a browser again',
  description: 'Sessions continue; user logout ends them, and the trust of every browser too. Repeating it changes nothing.',
  examples: [
    'user browser revoke bob@example.com --browser 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f',
    'user browser revoke bob@example.com --browser 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f --reason "lost laptop"',
    'user browser revoke bob@example.com --browser 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f --dry-run',
  ],
  async run({ api }, { user, browser }) {
    assertId('browser', browser)
    const path = { userId: await findUserId(api, user), browserId: browser }
    const answer = { user_id: path.userId, browser_id: browser }
    const revoking = api.DELETE('/api/v1/admin/users/{userId}/trusted-browsers/{browserId}', { params: { path } })
    return record(answer, (await wasThere(revoking)) ? 'revoked' : 'unchanged')
  },
})

export const listPasskeys = command({
  path: 'user passkey list',
  options: { user: userSubject, limit: count('N', 'Maximum number of passkeys. Default: all') },
  summary: 'List the passkeys of a user',
  examples: [
    'user passkey list bob@example.com',
    'user passkey list bob@example.com@@staff -o ndjson',
    'user passkey list bob@example.com --json',
  ],
  async run({ api }, { user, limit }) {
    const passkeys = passkeysOf(api, await findUserId(api, user), limit)
    return list(
      passkeys,
      ['name', ['host', ({ rp_id }) => rp_id], 'created_at', 'last_used_at', 'backed_up', 'id'],
      'no passkeys',
    )
  },
})

export const removePasskey = command({
  path: 'user passkey remove',
  options: { user: userSubject, passkey: requiredText('ID', 'Id of the passkey, or its name') },
  summary: 'Remove a passkey of a user, for example of a lost device',
  description:
    'Sessions continue; user logout ends them. A user without a password can set one with a reset mail. Repeating it changes nothing.',
  examples: [
    'user passkey remove bob@example.com --passkey "Work phone" --yes',
    'user passkey remove bob@example.com@@staff --passkey laptop --yes',
    'user passkey remove bob@example.com --passkey 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f --dry-run',
  ],
  confirms: 'yes',
  async run(tools, { user, passkey }) {
    const { api } = tools
    await confirmYes(tools, `remove the passkey ${passkey} of ${user}`)
    const userId = await findUserId(api, user)
    const all = await readAll(passkeysOf(api, userId))
    const [found, ...others] = all.filter(({ id, name }) => id === passkey || name === passkey)
    if (others.length > 0) {
      const candidates = all.map(({ id, name, created_at }) => `${id}  ${name}, added ${created_at}`).join('\n')
      throw new Failure('invalid', `${user} has several passkeys of this name`, {
        code: 'ambiguous_passkey',
        hint: `choose one of these by its id:\n${candidates}`,
      })
    }
    const answer = { user_id: userId, passkey: found?.id ?? passkey, name: found?.name ?? null }
    if (!found) return record(answer, 'unchanged')
    const path = { userId, passkeyId: found.id }
    const removing = api.DELETE('/api/v1/admin/users/{userId}/passkeys/{passkeyId}', { params: { path } })
    return record(answer, (await wasThere(removing)) ? 'removed' : 'unchanged')
  },
})
