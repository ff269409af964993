import { cpSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createDatabase } from '../support/database.ts'
import { startPatientClock } from '../support/patient-clock.ts'
import { admin, apiError, gatehouseFixture, machine, reply, standIn, startGatehouse } from './sandbox.ts'

const { service } = gatehouseFixture()

describe('login and logout', () => {
  test('login keeps the session in the context "default", readable by its owner alone', async () => {
    const { authctl, contextsPath, readContexts } = machine()
    const { stdout, exit } = await authctl(
      `login --email ${admin.email} --password-stdin --base-url ${service.url}/api/v1/ --json`,
      {
        input: `${admin.password}\n`,
      },
    )
    expect(exit).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      context: 'default',
      base_url: service.url,
      email: admin.email,
      outcome: 'signed_in',
    })
    expect(readContexts()).toMatchObject({
      current: 'default',
      contexts: { default: { base_url: service.url, email: admin.email } },
    })
    expect(statSync(contextsPath).mode & 0o777).toBe(0o600)
    expect(statSync(dirname(contextsPath)).mode & 0o777).toBe(0o700)
  })

  test('login prints no password and no token, even with --debug', async () => {
    const { authctl, readContexts } = machine()
    const { stdout, stderr } = await authctl(`login --email ${admin.email} --password-stdin --base-url ${service.url} --debug`, {
      input: admin.password,
    })
    const { access_token, refresh_token } = readContexts().contexts.default!.tokens!
    expect(stderr).toContain('> POST')
    expect(stderr).toContain('"password":"[redacted]"')
    for (const secret of [admin.password, access_token, refresh_token] as string[]) {
      expect(stdout + stderr).not.toContain(secret)
    }
    const later = await authctl('whoami --debug')
    expect(later.stderr).toContain('bearer [redacted]')
    expect(later.stderr).not.toContain(access_token)
  })

  test('a lockout by strangers does not stop a machine that has signed in before, even after a logout', async () => {
    const { login, authctl, readContexts } = machine()
    await login(service.url)
    const { device_token } = readContexts().contexts.default!
    expect(device_token).toMatch(/^gdt_/)
    await authctl('logout')
    const guess = { email: admin.email, password: 'a wrong guess', app_code: 'authctl' }
    for (let count = 0; count < 10; count += 1)
      await fetch(`${service.url}/api/v1/auth/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(guess),
      })
    const strange = await machine().authctl(`login --email ${admin.email} --password-stdin --base-url ${service.url} --json`, {
      input: admin.password,
    })
    expect(JSON.parse(strange.stderr).error).toMatchObject({ code: 'account_locked' })
    const again = await authctl('login --password-stdin --json', { input: admin.password })
    expect(again.exit).toBe(0)
    const { stdout } = await authctl(`user unlock ${admin.email} --json`)
    expect(JSON.parse(stdout)).toBeTruthy()
  })

  test('login with a wrong password exits with 4 and stores nothing', async () => {
    const { authctl } = machine()
    const { stdout, stderr, exit } = await authctl(
      `login --email ${admin.email} --password-stdin --base-url ${service.url} --json`,
      { input: 'wrong' },
    )
    expect({ stdout, exit }).toEqual({ stdout: '', exit: 4 })
    expect(JSON.parse(stderr).error).toMatchObject({ code: 'invalid_credentials', exit: 4, request_id: expect.any(String) })
    expect((await authctl('context list --json')).stdout).toBe('[]\n')
  })

  test.each([
    ['login --password-stdin', '--email is required'],
    ['login --email a@example.com', '--password-stdin is required'],
    ['login --email a@example.com --password hunter2', 'unknown option'],
  ])('"authctl %s" without a terminal exits with 2', async (command, message) => {
    const { stdout, stderr, exit } = await machine().authctl(command, { env: { AUTHCTL_BASE_URL: service.url } })
    expect({ stdout, exit }).toEqual({ stdout: '', exit: 2 })
    expect(stderr).toContain(message)
  })

  test('whoami shows user, roles and service', async () => {
    const { login, authctl } = machine()
    await login(service.url)
    const { stdout, exit } = await authctl('whoami --json')
    expect(exit).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      email: admin.email,
      user: `${admin.email}@@default`,
      system_admin: true,
      base_url: service.url,
      context: 'default',
    })
  })

  test('logout ends the session at the service too, and a repeat is unchanged', async () => {
    const { login, authctl, readContexts } = machine()
    await login(service.url)
    const { access_token } = readContexts().contexts.default!.tokens!
    expect(JSON.parse((await authctl('logout --json')).stdout)).toMatchObject({ outcome: 'signed_out' })
    expect(readContexts().contexts.default).toMatchObject({ base_url: service.url, email: admin.email, tokens: null })
    const dead = await authctl('whoami', { env: { AUTHCTL_TOKEN: String(access_token) } })
    expect(dead.exit).toBe(4)
    expect(JSON.parse((await authctl('logout --json')).stdout)).toMatchObject({ outcome: 'unchanged' })
    expect((await authctl('app list')).exit).toBe(4)
  })

  test('logout --all ends the sessions of every machine, and exits with 7 if the service does not do it', async () => {
    const [here, elsewhere] = [machine(), machine()]
    for (const { login } of [here, elsewhere]) await login(service.url)
    const planned = await here.authctl('logout --all --dry-run --json')
    expect(JSON.parse(planned.stdout).request).toMatchObject({ method: 'POST', url: `${service.url}/api/v1/auth/logout-all` })
    expect((await here.authctl('whoami')).exit).toBe(0)
    expect(JSON.parse((await here.authctl('logout --all --json')).stdout)).toEqual({
      context: 'default',
      base_url: service.url,
      email: admin.email,
      outcome: 'signed_out',
    })
    expect(here.readContexts().contexts.default!.tokens).toBe(null)
    expect((await elsewhere.authctl('whoami')).exit).toBe(4)
    expect((await here.authctl('logout --all')).exit).toBe(4)

    const { url } = await standIn((_, response) => reply(response, 404, {}))
    await elsewhere.login(service.url)
    const untold = { AUTHCTL_TOKEN: 'a-token', AUTHCTL_BASE_URL: url }
    expect((await elsewhere.authctl('logout --all', { env: untold })).exit).toBe(7)
    expect((await elsewhere.authctl('whoami')).exit).toBe(0)
  })

  test('logout --dry-run leaves the session alone', async () => {
    const { login, authctl } = machine()
    await login(service.url)
    const { stdout, exit } = await authctl('logout --dry-run --json')
    expect(exit).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      dry_run: true,
      request: { method: 'POST', body: { refresh_token: '[redacted]' } },
    })
    expect((await authctl('whoami')).exit).toBe(0)
  })
})

describe('the renewal of the session', () => {
  test('six processes at once renew the session before the access token expires, and all succeed', async () => {
    const { login, authctlProcess, readContexts, changeTokens } = machine()
    await login(service.url)
    for (let round = 0; round < 3; round += 1) {
      const before = readContexts().contexts.default!.tokens!.refresh_token
      changeTokens('default', { renew_at: 0 })
      const all = await Promise.all(Array.from({ length: 6 }, () => authctlProcess('whoami')))
      expect(all.map(({ exit, stderr }) => ({ exit, stderr }))).toEqual(Array(6).fill({ exit: 0, stderr: '' }))
      expect(readContexts().contexts.default!.tokens!.refresh_token).not.toBe(before)
    }
  })

  test('authctl renews the session when the service says that the access token has expired', async () => {
    // Long enough for the new token to be still valid when a busy machine gets to use it.
    const brief = await startGatehouse({ JWT_ACCESS_TTL_SECONDS: '4' })
    try {
      const { login, authctl, changeTokens, readContexts } = machine()
      await login(brief.url)
      const { refresh_token } = readContexts().contexts.default!.tokens!
      await new Promise((resolve) => setTimeout(resolve, 4_200))
      changeTokens('default', { renew_at: Date.now() + 60_000 })
      expect((await authctl('app list --quiet')).exit).toBe(0)
      expect(readContexts().contexts.default!.tokens!.refresh_token).not.toBe(refresh_token)
    } finally {
      await brief.stop()
    }
  })

  test.each(['sqlite', 'postgres'] as const)(
    'six processes at once renew the session after an emergency change of the secret, on %s',
    async (kind) => {
      const database = await createDatabase(kind)
      const settings = { DATABASE_URL: database.url, AUTH_REFRESH_LEEWAY_SECONDS: '0' }
      let server = await startGatehouse({ ...settings, JWT_ACCESS_SECRET: 'the secret that has leaked'.padEnd(64, '.') })
      try {
        const { login, authctl, authctlProcess, readContexts } = machine()
        await login(server.url)
        const before = readContexts().contexts.default!.tokens!
        await server.stop()
        server = await startGatehouse({
          ...settings,
          PORT: new URL(server.url).port,
          JWT_ACCESS_SECRET: 'another one'.padEnd(64, '.'),
        })
        const all = await Promise.all(Array.from({ length: 6 }, () => authctlProcess('whoami')))
        expect(all.map(({ exit, stderr }) => ({ exit, stderr }))).toEqual(Array(6).fill({ exit: 0, stderr: '' }))
        const after = readContexts().contexts.default!.tokens!
        expect(after.access_token).not.toBe(before.access_token)
        expect(after.refresh_token).not.toBe(before.refresh_token)
        // An access token without a refresh token cannot be renewed.
        const given = await authctl('whoami --json', {
          env: { AUTHCTL_TOKEN: String(before.access_token), AUTHCTL_BASE_URL: server.url },
        })
        expect(given.exit).toBe(4)
        expect(JSON.parse(given.stderr).error).toMatchObject({
          code: 'token_invalid',
          hint: expect.stringContaining('AUTHCTL_TOKEN'),
        })
        expect(readContexts().contexts.default!.tokens).toEqual(after)
      } finally {
        await server.stop()
        await database.drop()
      }
    },
  )

  describe('a renewal for one request', () => {
    const tokens = (name: string) => ({
      token_type: 'Bearer',
      access_token: name,
      expires_in: 900,
      refresh_token: `refresh-${name}`,
      refresh_expires_in: 9000,
      user: { id: 'u', email: 'ada@example.com' },
    })
    /** A machine with the tokens `first`. All requests after the login get `answer`. */
    const signedIn = async (answer: Parameters<typeof standIn>[0]) => {
      const service = await standIn((request, response) => {
        if (request.path.endsWith('/login')) reply(response, 200, tokens('first'))
        else answer(request, response)
      })
      const here = machine()
      await here.login(service.url)
      const sent = () =>
        service.requests.slice(1).map(({ path, authorization }) => [path.split('/').at(-1), authorization?.slice(7)])
      return { here, sent }
    }

    // Behind a load balancer, another server may have issued it. Eight tries are enough to meet that one.
    const refusedAnew = Array.from({ length: 8 }, () => ['me', 'new'])

    test('a request is sent again after a renewal, also to other servers, and then exits with 4 and a hint', async () => {
      const { here, sent } = await signedIn(({ path }, response) =>
        path.endsWith('/refresh')
          ? reply(response, 200, tokens('new'))
          : reply(response, 401, apiError(401, 'token_invalid'), { 'retry-after': '0' }),
      )
      const { stderr, exit } = await here.authctl('whoami --json')
      expect(exit).toBe(4)
      const hint = expect.stringContaining('compare JWT_ACCESS_SECRET of all servers')
      expect(JSON.parse(stderr).error).toMatchObject({ code: 'token_invalid', hint })
      expect(sent()).toEqual([['me', 'first'], ['refresh', undefined], ...refusedAnew])
    })

    test('a request whose token was renewed before it is also tried at other servers', async () => {
      const { here, sent } = await signedIn(({ path }, response) =>
        path.endsWith('/refresh') ? reply(response, 200, tokens('new')) : reply(response, 401, apiError(401, 'token_invalid')),
      )
      here.changeTokens('default', { renew_at: 0 })
      expect((await here.authctl('whoami')).exit).toBe(4)
      expect(sent()).toEqual([['refresh', undefined], ...refusedAnew])
    })

    test('a refused renewal exits with 4 and the command to sign in', async () => {
      const { here, sent } = await signedIn(({ path }, response) =>
        reply(response, 401, apiError(401, path.endsWith('/refresh') ? 'invalid_refresh_token' : 'token_revoked')),
      )
      const { stderr, exit } = await here.authctl('whoami --json')
      expect(exit).toBe(4)
      expect(JSON.parse(stderr).error).toMatchObject({ code: 'invalid_refresh_token', hint: 'authctl login', exit: 4 })
      expect(sent()).toEqual([
        ['me', 'first'],
        ['refresh', undefined],
      ])
    })

    test('a request tries the token of another process before it renews the session', async () => {
      let leave = () => {}
      const { here, sent } = await signedIn(({ path }, response) => {
        if (path.endsWith('/refresh')) return reply(response, 200, tokens('new'))
        leave()
        leave = () => {}
        const token = here.readContexts().contexts.default!.tokens!.access_token
        reply(response, token === 'new' ? 403 : 401, apiError(token === 'new' ? 403 : 401, 'system_admin_required'))
      })
      leave = () => here.changeTokens('default', { access_token: 'second' })
      expect((await here.authctl('whoami')).exit).toBe(4)
      expect(sent()).toEqual([
        ['me', 'first'],
        ['me', 'second'],
        ['refresh', undefined],
        ['me', 'new'],
      ])
    })

    test('a wrong password in a request causes no renewal and no second try', async () => {
      const { here, sent } = await signedIn((_, response) => reply(response, 401, apiError(401, 'invalid_credentials')))
      const { exit } = await here.authctl('two-factor disable --password-stdin', { input: 'wrong\n123456\n' })
      expect(exit).toBe(6)
      expect(sent()).toEqual([['disable', 'first']])
    })
  })

  test('a lock that a killed process left behind does not block a command', async () => {
    const { login, authctl, changeTokens, contextsPath } = machine()
    await login(service.url)
    changeTokens('default', { renew_at: 0 })
    writeFileSync(join(dirname(contextsPath), 'contexts.lock'), '999999999 gone')
    const clock = startPatientClock()
    expect((await authctl('whoami')).exit).toBe(0)
    expect(clock()).toBeLessThan(20_000)
  })

  test('an ended session exits with 4 and the command to sign in', async () => {
    const first = machine()
    const second = machine()
    await first.login(service.url)
    cpSync(dirname(first.contextsPath), dirname(second.contextsPath), { recursive: true })
    await first.authctl('logout')
    second.changeTokens('default', { renew_at: 0 })
    const { stderr, exit } = await second.authctl('whoami --json')
    expect(exit).toBe(4)
    expect(JSON.parse(stderr).error).toMatchObject({ code: 'invalid_refresh_token', hint: 'authctl login', exit: 4 })
  })
})

describe('contexts', () => {
  test('context set, list, use, show and delete work', async () => {
    const { authctl } = machine()
    const json = async (command: string) => JSON.parse((await authctl(`${command} --json`)).stdout)
    expect(await json('context set one --base-url http://one.example/api/v1')).toMatchObject({
      name: 'one',
      base_url: 'http://one.example',
      current: true,
      outcome: 'created',
    })
    expect(await json('context set two --base-url https://two.example --email b@example.com')).toMatchObject({
      current: false,
      signed_in: false,
    })
    expect(await json('context set two --base-url https://two.example --email b@example.com')).toMatchObject({
      outcome: 'unchanged',
    })
    expect(await json('context use two')).toMatchObject({ name: 'two', outcome: 'updated' })
    expect(await json('context show')).toMatchObject({ name: 'two', email: 'b@example.com', current: true })
    expect((await json('context list')).map(({ name }: { name: string }) => name)).toEqual(['one', 'two'])
    expect((await authctl('context delete two')).exit).toBe(2)
    expect((await authctl('context delete two --confirm one')).exit).toBe(2)
    expect((await authctl('context delete two --yes')).exit).toBe(2)
    expect((await authctl('context delete two --confirm two --dry-run')).exit).toBe(0)
    expect(await json('context delete two --confirm two')).toMatchObject({ outcome: 'deleted' })
    expect((await authctl('context show two')).exit).toBe(3)
    expect((await authctl('context use two')).exit).toBe(3)
    expect((await authctl('app list --context two')).exit).toBe(3)
    expect((await authctl('context set __proto__ --base-url http://x.example')).exit).toBe(2)
    expect((await authctl('context set three')).exit).toBe(2)
  })

  test('a flag wins over the environment, and the environment over the current context', async () => {
    const { login, authctl } = machine()
    await login(service.url)
    await authctl('context set elsewhere --base-url http://127.0.0.1:9')
    await authctl('context set third --base-url http://127.0.0.1:10')
    const env = { AUTHCTL_CONTEXT: 'elsewhere' }
    expect(JSON.parse((await authctl('context show --json', { env })).stdout).name).toBe('elsewhere')
    expect(JSON.parse((await authctl('context show --json --context third', { env })).stdout).name).toBe('third')
    expect((await authctl('whoami', { env })).exit).toBe(4)
    expect((await authctl('whoami --context default', { env })).exit).toBe(0)
    expect(
      (
        await authctl('whoami --context default --base-url http://127.0.0.1:9', {
          env: { AUTHCTL_TOKEN: 't', AUTHCTL_BASE_URL: service.url },
        })
      ).exit,
    ).toBe(7)
  })

  test('a token from a file wins over the environment, and either works without a context', async () => {
    const { login, authctl, readContexts, folder } = machine()
    await login(service.url)
    const token = String(readContexts().contexts.default!.tokens!.access_token)
    await authctl('context delete default --confirm default')
    const env = { AUTHCTL_BASE_URL: service.url }
    expect((await authctl('whoami', { env })).exit).toBe(4)
    expect((await authctl('whoami', { env: { ...env, AUTHCTL_TOKEN: token } })).exit).toBe(0)
    writeFileSync(join(folder, 'token'), `${token}\n`)
    const { stdout, exit } = await authctl('whoami --json --token-file token', { env: { ...env, AUTHCTL_TOKEN: 'rubbish' } })
    expect(exit).toBe(0)
    expect(JSON.parse(stdout).context).toBe(null)
    expect((await authctl('whoami --token-file none', { env })).exit).toBe(6)
  })

  test('the token of one service is not sent to another', async () => {
    const { url, requests } = await standIn((_, response) => reply(response, 200, {}))
    const { login, authctl } = machine()
    await login(service.url)
    const { exit, stderr } = await authctl(`app list --base-url ${url}`)
    expect({ exit, requests }).toEqual({ exit: 4, requests: [] })
    expect(stderr).toContain(`authctl login --base-url ${url}`)
    await authctl(`context set default --base-url ${url}`)
    expect((await authctl('app list')).exit).toBe(4)
    expect(requests).toEqual([])
  })

  test('a broken contexts file exits with 6 and stays unchanged', async () => {
    const { authctl, contextsPath } = machine()
    mkdirSync(dirname(contextsPath), { recursive: true })
    writeFileSync(contextsPath, '{"contexts": ')
    const { exit, stderr } = await authctl(`login --email ${admin.email} --password-stdin --base-url ${service.url}`, {
      input: admin.password,
    })
    expect(exit).toBe(6)
    expect(stderr).toContain(contextsPath)
    expect(readFileSync(contextsPath, 'utf8')).toBe('{"contexts": ')
  })
})
