import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { addUser, apiError, gatehouseFixture, type Machine, machine, nobody, parsed, reply, standIn } from './sandbox.ts'

const { signedIn } = gatehouseFixture()

const create = async (here: Machine, email: string, namespace: string): Promise<string> =>
  (await addUser(here, { email, password: 'a fine password', namespace })).id

describe('pool', () => {
  test('pool list and show count users and name the apps', async () => {
    const here = await signedIn()
    const { authctl } = here
    await authctl('app create lister --name L --pool red --read-pool blue')
    await create(here, 'one@red.example', 'red')
    await authctl('pool tag --user one@red.example --pool blue')
    const shown = parsed(await authctl('pool show red --json'))
    expect(shown).toMatchObject({
      namespace: 'red',
      user_count: 1,
      tagged_user_count: 0,
      apps: [{ code: 'lister', as: 'registration' }],
    })
    expect(parsed(await authctl('pool list --json'))).toContainEqual(shown)
    expect(parsed(await authctl('pool list --limit 1 --json'))).toHaveLength(1)
    const table = (await authctl('pool list -o table')).stdout
    expect(table).toMatch(/^POOL +USERS +TAGGED +HOME OF +READ BY\n/)
    expect(table).toMatch(/\nblue +0 +1 +- +lister\n/)
    expect((await authctl('pool show red -o table')).stdout).toMatch(/\n\nAPP +NAMES IT AS +ID\nlister +registration/)
    expect((await authctl('pool show nowhere')).exit).toBe(3)
    expect((await authctl('pool show')).exit).toBe(2)
  })

  test('pool collisions lists the users who share an e-mail address', async () => {
    const here = await signedIn()
    const { authctl } = here
    await create(here, 'twin@example.com', 'left')
    await create(here, 'twin@example.com', 'right')
    await create(here, 'alone@example.com', 'left')
    expect(parsed(await authctl('pool collisions left right --json'))).toMatchObject([
      { email: 'twin@example.com', users: [{ namespace: 'left' }, { namespace: 'right' }] },
    ])
    expect((await authctl('pool collisions left right -o table')).stdout).toMatch(
      /^EMAIL +ONE +OTHER\ntwin@example\.com +twin@example\.com@@left +twin@example\.com@@right\n$/,
    )
    await create(here, 'other@example.com', 'far')
    const none = await authctl('pool collisions left far -o table')
    expect(none).toEqual({ stdout: '', stderr: 'no e-mail is in both\n', exit: 0 })
    expect((await authctl('pool collisions left nowhere')).exit).toBe(3)
    expect((await authctl('pool collisions left ..')).exit).toBe(6)
    expect((await authctl('pool collisions left')).exit).toBe(2)
  })

  test('pool tag and untag change the pools of a user, and repeating either is unchanged', async () => {
    const here = await signedIn()
    const { authctl } = here
    const id = await create(here, 'tess@example.com', 'home')
    const tag = '--user tess@example.com@@home --pool visited'
    expect((await authctl(`pool tag ${tag} --dry-run`)).exit).toBe(0)
    expect(parsed(await authctl(`pool tag ${tag} --json`))).toEqual({
      user_id: id,
      email: 'tess@example.com',
      namespace: 'home',
      namespaces: ['home', 'visited'],
      outcome: 'tagged',
    })
    expect(parsed(await authctl(`pool tag ${tag} --json`))).toMatchObject({ outcome: 'unchanged' })
    expect(parsed(await authctl(`pool untag ${tag} --json`))).toMatchObject({ namespaces: ['home'], outcome: 'untagged' })
    expect(parsed(await authctl(`pool untag ${tag} --json`))).toMatchObject({ outcome: 'unchanged' })
    expect((await authctl('pool untag --user tess@example.com --pool home')).exit).toBe(6)
    expect((await authctl('pool tag --user tess@example.com --pool "no pool"')).exit).toBe(6)
    expect((await authctl('pool tag --user tess@example.com')).exit).toBe(2)
    expect((await authctl('pool tag --pool visited')).exit).toBe(2)
  })

  test('pool move needs --yes, a repeat is unchanged, and a taken e-mail address exits with 5', async () => {
    const here = await signedIn()
    const { authctl } = here
    await create(here, 'mo@example.com', 'before')
    const move = 'pool move --user mo@example.com --to after'
    const refused = await authctl(move)
    expect(refused).toMatchObject({ stdout: '', exit: 2 })
    expect(refused.stderr).toContain('--yes')
    expect((await authctl(`${move} --dry-run`)).exit).toBe(0)
    expect(parsed(await authctl('user show mo@example.com --json')).namespace).toBe('before')
    expect(parsed(await authctl(`${move} --yes --json`))).toMatchObject({ namespace: 'after', outcome: 'moved' })
    expect(parsed(await authctl(`${move} --yes --json`))).toMatchObject({ namespace: 'after', outcome: 'unchanged' })
    await create(here, 'mo@example.com', 'before')
    expect((await authctl('pool move --user mo@example.com@@before --to after --yes')).exit).toBe(5)
    expect((await authctl(`pool move --user ${nobody} --to after --yes`)).exit).toBe(3)
  })
})

describe('--from-file', () => {
  const listOf = ({ folder }: Machine, lines: string[]) => {
    writeFileSync(join(folder, 'users.txt'), lines.join('\n'))
    return '--from-file users.txt'
  }

  test('--from-file handles each line, reports failures, and its counts add up', async () => {
    const here = await signedIn()
    const { authctl } = here
    await authctl('app create many --name Many')
    for (const name of ['ann', 'ben', 'cid']) await create(here, `${name}@many.example`, 'many')
    await authctl('grant add --app many --user ben@many.example')
    const file = listOf(here, [
      '# who comes',
      'ann@many.example',
      'ben@many.example # is in already',
      '',
      'no user',
      'nobody@many.example',
      'cid@many.example@@many',
    ])
    const planned = await authctl(`grant add --app many ${file} --dry-run --json`)
    expect({ exit: planned.exit, counts: parsed(planned).counts }).toEqual({ exit: 8, counts: { planned: 3, failed: 2 } })
    expect(parsed(await authctl('grant list --app many --json'))).toHaveLength(1)

    const added = await authctl(`grant add --app many ${file} --json`)
    expect(added.exit).toBe(8)
    expect(parsed(added)).toEqual({
      total: 5,
      counts: { granted: 2, unchanged: 1, failed: 2 },
      users: [
        { line: 2, user: 'ann@many.example', outcome: 'granted' },
        { line: 3, user: 'ben@many.example', outcome: 'unchanged' },
        { line: 5, user: 'no user', outcome: 'failed', code: 'invalid_user', message: '"no user" does not name a user' },
        expect.objectContaining({ line: 6, user: 'nobody@many.example', outcome: 'failed', code: 'user_not_found' }),
        { line: 7, user: 'cid@many.example@@many', outcome: 'granted' },
      ],
    })
    expect(JSON.parse(added.stderr).error).toMatchObject({ code: 'some_failed', message: '2 of 5 failed', exit: 8 })
    const table = await authctl(`grant add --app many ${file} -o table`)
    expect(table.exit).toBe(8)
    expect(table.stdout).toMatch(/^LINE +USER +OUTCOME +CODE +DETAIL\n5 +no user +failed +invalid_user/)
    expect(table.stdout).toMatch(/\n\nTOTAL +5\nUNCHANGED +3\nFAILED +2\n$/)
    expect(parsed(await authctl('grant list --app many --json'))).toHaveLength(3)
  })

  test('--from-file revokes, moves, tags and untags from standard input, and --yes covers all users', async () => {
    const here = await signedIn()
    const { authctl } = here
    await authctl('app create crowd --name Crowd')
    const names = ['dan', 'eva', 'fay']
    for (const name of names) await create(here, `${name}@crowd.example`, 'crowd')
    const input = names.map((name) => `${name}@crowd.example\r\n`).join('')
    const all = async (command: string) => {
      const { stdout, stderr, exit } = await authctl(`${command} --from-file - --json`, { input })
      return exit === 0 ? JSON.parse(stdout).counts : { exit, stderr }
    }
    expect(await all('grant add --app crowd --reason "they asked"')).toEqual({ granted: 3 })
    expect(await all('grant revoke --app crowd')).toEqual({ exit: 2, stderr: expect.stringContaining('3 users') })
    expect(await all('grant revoke --app crowd --yes')).toEqual({ revoked: 3 })
    expect(await all('grant revoke --app crowd --yes')).toEqual({ unchanged: 3 })
    expect(await all('pool tag --pool visitors')).toEqual({ tagged: 3 })
    expect(await all('pool untag --pool visitors')).toEqual({ untagged: 3 })
    expect(await all('pool move --to moved')).toMatchObject({ exit: 2 })
    expect(await all('pool move --to moved --yes')).toEqual({ moved: 3 })
    expect(await all('pool move --to moved --yes')).toEqual({ unchanged: 3 })
  })

  test('--from-file reports a fault that concerns all lines once', async () => {
    const here = await signedIn()
    const { authctl } = here
    const file = listOf(here, ['ada@example.com', 'bob@example.com'])
    expect((await authctl(`grant add --app nowhere ${file}`)).exit).toBe(3)
    expect((await authctl(`grant revoke --app nowhere ${file} --yes`)).exit).toBe(3)
    expect((await authctl('grant add --app authctl --from-file nowhere.txt')).exit).toBe(6)
    expect((await authctl('grant add --app authctl --from-file -', { input: '# nobody\n' })).exit).toBe(6)
    expect((await authctl(`grant add --app authctl ${file} --user ada@example.com`)).exit).toBe(2)
  })

  test('--from-file exits with 4 if the session ends midway, and counts the lines not tried', async () => {
    const { url } = await standIn(({ method, path }, response) => {
      const id = /users\/([0-9a-f-]{36})/.exec(path)?.[1]
      if (id === undefined) return reply(response, 200, { items: [{ namespace: 'b' }], next_cursor: null })
      const user = { id, email: 'x@example.com', namespace: 'a', namespaces: ['a'], status: 'active' }
      if (id?.endsWith('02')) return reply(response, 403, apiError(403, 'system_admin_required'))
      reply(response, 200, method === 'GET' ? user : { namespace: 'a', namespaces: ['a', 'b'] })
    })
    const here = machine()
    const ids = Array.from(
      { length: 40 },
      (_, index) => `01997c2f-0000-7000-8000-0000000000${String(index + 1).padStart(2, '0')}`,
    )
    const env = { AUTHCTL_TOKEN: 'a-token', AUTHCTL_BASE_URL: url }
    const { stdout, exit } = await here.authctl(`pool tag --pool b ${listOf(here, ids)} --json`, { env })
    expect(exit).toBe(4)
    const { total, counts } = JSON.parse(stdout)
    expect(counts).toEqual({ tagged: expect.any(Number), failed: 1, not_tried: expect.any(Number) })
    // Requests that were in flight at that moment are counted by their results.
    expect([total, counts.tagged + counts.not_tried, counts.not_tried > 20]).toEqual([40, 39, true])
  })
})
