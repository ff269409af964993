import { expect, test } from 'vitest'
import { gatehouseFixture, type Machine, nobody, parsed, register } from './sandbox.ts'

const { service, signedIn } = gatehouseFixture()

/** Registers a user who can become a member, and returns the id. */
async function person({ authctl }: Machine, email: string): Promise<string> {
  await authctl('app create people --name People --auto-grant --if-exists skip')
  return (await register(service.url, { email, password: 'a fine password', app_code: 'people' })).user.id
}

test('org create, list and show work by slug and by id', async () => {
  const { authctl } = await signedIn()
  const acme = parsed(await authctl('org create acme --name "Acme Ltd" --json'))
  expect(acme).toMatchObject({ slug: 'acme', name: 'Acme Ltd', outcome: 'created' })
  expect(parsed(await authctl('org create --name "Acme Holding" --json')).slug).toMatch(/^acme-holding/)
  const again = await authctl('org create acme --name Other --json')
  expect({ exit: again.exit, code: JSON.parse(again.stderr).error.code }).toEqual({ exit: 5, code: 'organization_slug_taken' })
  expect((await authctl('org create planned --name Planned --dry-run')).exit).toBe(0)
  expect((await authctl('org show planned')).exit).toBe(3)
  expect((await authctl('org create Bad_Slug --name Bad')).exit).toBe(6)
  expect((await authctl('org create nameless')).exit).toBe(2)

  expect(parsed(await authctl('org list --q acme --json'))).toHaveLength(2)
  expect(parsed(await authctl('org list --limit 1 --json'))).toHaveLength(1)
  expect((await authctl('org list -o table')).stdout).toMatch(/^SLUG +NAME/)
  expect((await authctl('org list --q nothing-of-it -o table')).stderr).toBe('no organizations\n')
  const shown = parsed(await authctl('org show acme --json'))
  expect(shown).toMatchObject({ id: acme.id, slug: 'acme', members: [], invitations: [] })
  expect(parsed(await authctl(`org show ${acme.id} --json`))).toEqual(shown)
  for (const named of ['nowhere', 'acm', nobody]) expect((await authctl(`org show ${named}`)).exit).toBe(3)
})

test('org member adds, sets roles and removes, and a repeat is unchanged', async () => {
  const here = await signedIn()
  const { authctl } = here
  const id = await person(here, 'bob@example.com')
  await authctl('org create crew --name Crew')
  const member = 'org member --org crew --user bob@example.com'
  expect((await authctl(member)).exit).toBe(2)
  expect((await authctl(`${member} --role org_member --dry-run`)).exit).toBe(0)
  expect(parsed(await authctl('org show crew --json')).members).toEqual([])
  expect(parsed(await authctl(`${member}@@default --role org_member --json`))).toMatchObject({
    organization: 'crew',
    id,
    role_codes: ['org_member'],
    outcome: 'added',
  })
  expect(parsed(await authctl(`${member} --role org_member --json`))).toMatchObject({ outcome: 'unchanged' })
  expect(parsed(await authctl(`${member} --role org_member org_admin --json`))).toMatchObject({
    role_codes: ['org_admin', 'org_member'],
    outcome: 'updated',
  })
  expect((await authctl(`${member} --role system_admin`)).exit).toBe(6)
  const table = (await authctl('org show crew -o table')).stdout
  expect(table).toMatch(/\nMEMBER +ROLES +STATUS/)
  expect(table).toMatch(/\nbob@example\.com@@default +org_admin, org_member +active/)

  const refused = await authctl(`${member} --remove`)
  expect(refused).toMatchObject({ stdout: '', exit: 2 })
  expect(refused.stderr).toContain('--yes')
  expect((await authctl(`${member} --remove --role org_admin --yes`)).exit).toBe(2)
  expect((await authctl(`${member} --remove --dry-run`)).exit).toBe(0)
  expect(parsed(await authctl('org show crew --json')).members).toHaveLength(1)
  expect(parsed(await authctl(`${member} --remove --yes --json`))).toMatchObject({ user_id: id, outcome: 'removed' })
  expect(parsed(await authctl(`${member} --remove --yes --json`))).toMatchObject({ user_id: id, outcome: 'unchanged' })
  expect((await authctl(`org member --org crew --user ${nobody} --remove --yes`)).exit).toBe(3)
  expect((await authctl('org member --org nowhere --user bob@example.com --role org_member')).exit).toBe(3)
})

test('the command that grant explain prints makes the user a member', async () => {
  const here = await signedIn()
  const { authctl } = here
  await person(here, 'dora@example.com')
  const { id } = parsed(await authctl('org create guild --name Guild --json'))
  const explain = `grant explain --app people --user dora@example.com --org ${id}`
  const remedy = (await authctl(`${explain} -o table`)).stdout.match(/^ {2}authctl (org member .*)$/m)![1]!
  expect((await authctl(remedy)).exit).toBe(0)
  expect(parsed(await authctl(explain)).outcome).toBe('granted')
})

test('org invite prints the token once, and org show lists the invitation', async () => {
  const here = await signedIn()
  const { authctl } = here
  await person(here, 'carl@example.com')
  await authctl('org create club --name Club')
  const invited = await authctl('org invite --org club --email eve@example.com --role org_admin --app people --expires 2d --json')
  expect(invited.exit).toBe(0)
  const { token, ...invitation } = parsed(invited)
  expect(invitation).toMatchObject({
    email: 'eve@example.com',
    role_codes: ['org_admin'],
    app_code: 'people',
    status: 'pending',
    outcome: 'invited',
  })
  expect(Math.round((Date.parse(invitation.expires_at) - Date.now()) / 3_600_000)).toBe(48)
  expect(invited.stderr).toBe('the token is not shown again\n')
  const shown = await authctl('org show club --json')
  expect(parsed(shown).invitations).toMatchObject([{ id: invitation.id, email: 'eve@example.com' }])
  expect(shown.stdout).not.toContain(token)
  expect((await authctl('org show club -o table')).stdout).toMatch(/\nINVITED +ROLES[^\n]*\neve@example\.com +org_admin +people/)

  expect(parsed(await authctl('org invite --org club --role org_member --dry-run --json')).request.method).toBe('POST')
  expect(parsed(await authctl('org show club --json')).invitations).toHaveLength(1)
  expect((await authctl('org invite --org club')).exit).toBe(2)
  expect((await authctl('org invite --org club --role org_member --expires soon')).exit).toBe(6)
  expect((await authctl('org invite --org club --role base_user')).exit).toBe(6)
  expect((await authctl('org invite --org nowhere --role org_member')).exit).toBe(3)
})
