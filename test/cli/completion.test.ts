import { execFile, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { spawn } from '@lydell/node-pty'
import { describe, expect, test } from 'vitest'
import { cliProgram, gatehouseFixture, type Machine, machine } from './sandbox.ts'

const { service } = gatehouseFixture()

/** A machine with `authctl` on the path, and the environment for its shells. */
async function withAuthctl(): Promise<{ here: Machine; env: Record<string, string> }> {
  const here = machine()
  await here.login(service.url)
  const bin = join(here.folder, 'bin')
  mkdirSync(bin)
  const words = [process.execPath, cliProgram].map((word) => `'${word}'`).join(' ')
  writeFileSync(join(bin, 'authctl'), `#!/bin/sh\nexec ${words} "$@"\n`)
  chmodSync(join(bin, 'authctl'), 0o755)
  const path = `${bin}${delimiter}${process.env.PATH}`
  return {
    here,
    env: { PATH: path, HOME: here.folder, XDG_CONFIG_HOME: join(here.folder, 'config'), TERM: 'dumb', HISTFILE: '' },
  }
}

/** The completions that bash offers at the end of a line. The line is split into words as bash does. */
async function offers(env: Record<string, string>, line: string): Promise<string[]> {
  const script = `
    source <(authctl completion bash)
    COMP_WORDS=(${line
      .match(/[=:@]+|[^\s=:@]+/g)!
      .map((word) => `'${word}'`)
      .join(' ')} ${/[\s]$/.test(line) ? "''" : ''})
    COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
    _authctl
    printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout } = await promisify(execFile)('bash', ['--norc', '-c', script], { env, cwd: env.HOME! })
  return stdout.trimEnd().split('\n')
}

test('bash completes "authctl app sh" on TAB, and runs no part of the line', async () => {
  const { env } = await withAuthctl()
  const shell = spawn('bash', ['--norc', '--noprofile', '-i'], {
    env: { ...env, PS1: '$ ' },
    cwd: env.HOME!,
    cols: 200,
    rows: 50,
  })
  let shown = ''
  shell.onData((text) => {
    shown += text
  })
  const shows = async (text: string) => {
    while (!shown.includes(text)) await new Promise((resolve) => setTimeout(resolve, 20))
  }
  shell.write('source <(authctl completion bash); echo "load""ed"\r')
  await shows('loaded')
  shell.write('authctl app sh\t')
  await shows('authctl app show ')
  // Nothing may run before Enter is pressed. The bell means that no completion was found.
  shell.write('$(touch ran) `touch ran`\t')
  await shows('\u0007')
  const ended = new Promise((resolve) => shell.onExit(resolve))
  shell.kill()
  await ended
  expect(existsSync(join(env.HOME!, 'ran'))).toBe(false)
})

test('bash is offered commands, flags, values, contexts and the codes of the apps', async () => {
  const { here, env } = await withAuthctl()
  for (const code of ['shop', 'shelf', 'notes']) await here.authctl(`app create ${code} --name N --if-exists skip`)
  expect(await offers(env, 'authctl app de')).toEqual(['deactivate', 'delete'])
  expect((await offers(env, 'authctl app show ')).sort()).toEqual(['authctl', 'notes', 'shelf', 'shop'])
  expect((await offers(env, 'authctl grant add --app sh')).sort()).toEqual(['shelf', 'shop'])
  expect((await offers(env, 'authctl grant add --app=sh')).sort()).toEqual(['shelf', 'shop'])
  expect(await offers(env, 'authctl app list --status=a')).toEqual(['active'])
  expect(await offers(env, 'authctl whoami --context ')).toEqual(['default'])
  expect(await offers(env, 'authctl grant add --user bob@@staff --ap')).toEqual(['--app'])
  expect(await offers(env, `authctl --base-url ${service.url} app sh`)).toEqual(['show'])
})

test('bash is offered the roles, pools, services, organizations and providers of the service, and the kinds of events', async () => {
  const { here, env } = await withAuthctl()
  await here.authctl('role create reviewer --name Reviewer --scope global')
  await here.authctl('org create acme --name Acme')
  await here.authctl('app create pooled --name P --pool partners --service billing --if-exists skip')
  const [{ id }] = JSON.parse((await here.authctl('org list')).stdout)
  expect(await offers(env, 'authctl role show rev')).toEqual(['reviewer'])
  expect(await offers(env, 'authctl pool show par')).toEqual(['partners'])
  expect(await offers(env, 'authctl permission list --service bil')).toEqual(['billing'])
  expect(await offers(env, 'authctl org show a')).toEqual(['acme'])
  expect(await offers(env, `authctl grant explain --org ${id.slice(0, 8)}`)).toEqual([id])
  expect(await offers(env, 'authctl sso-provider show ')).toEqual([''])
  expect(await offers(env, 'authctl audit tail --event login.s')).toEqual(['login.success'])
})

test('nothing is offered or printed if the service is away or nobody is signed in', async () => {
  const { here } = await withAuthctl()
  const elsewhere: Record<string, string>[] = [
    { AUTHCTL_BASE_URL: 'http://127.0.0.1:9', AUTHCTL_TOKEN: 't' },
    { AUTHCTL_CONTEXT: 'nowhere' },
  ]
  for (const env of elsewhere) {
    expect(await here.authctl('__complete -- app show ""', { env })).toEqual({ stdout: '', stderr: '', exit: 0 })
  }
})

describe.each(['bash', 'zsh', 'fish'])('the script for %s', (shell) => {
  test('the script for the shell calls authctl', async () => {
    const { stdout, exit } = await machine().authctl(`completion ${shell}`)
    expect({ exit, calls: stdout.includes('authctl __complete -- ') }).toEqual({ exit: 0, calls: true })
  })

  // The shell may not be installed.
  const isThere = spawnSync(shell, ['-c', 'exit 0']).error === undefined
  test.skipIf(!isThere)('the shell accepts its script', async () => {
    const { stdout } = await machine().authctl(`completion ${shell}`)
    expect(spawnSync(shell, ['-n', '-c', stdout], { encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' })
  })
})

test('completion for another shell exits with 2', async () => {
  const { authctl } = machine()
  expect((await authctl('completion tcsh')).exit).toBe(2)
  expect((await authctl('completion')).exit).toBe(2)
})
