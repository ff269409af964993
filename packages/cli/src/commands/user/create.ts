import { bodyOf } from '../../api/api-client.ts'
import { flag, requiredText, text, texts } from '../../command-line/options.ts'
import { noteNewPools } from '../../nouns/pool-names.ts'
import { record } from '../../output/output.ts'
import { command } from '../../tools/command.ts'
import { readSecrets } from '../../tools/read-secrets.ts'

export const createUser = command({
  path: 'user create',
  options: {
    email: requiredText('EMAIL', 'E-mail of the new user'),
    pool: text('POOL', 'Home pool. Default: "default"', { completes: 'pools' }),
    firstName: text('NAME', 'First name'),
    lastName: text('NAME', 'Last name'),
    locale: text('TAG', 'The language that the user reads, such as de or pt-BR'),
    tag: texts('POOL', 'Further pools, as tags', { completes: 'pools' }),
    role: texts('ROLE', 'Global roles', { completes: 'roles' }),
    verified: flag('Mark the e-mail as verified'),
    passwordStdin: flag('Read a password from standard input. Without one, the user sets it with a reset mail'),
  },
  summary: 'Create a user',
  description: 'Sends no mail and grants no app.',
  examples: [
    'user create --email bob@example.com --pool staff',
    'user create --email bob@example.com --first-name Bob --tag partners --role support --verified --json',
    'user create --email bob@example.com --password-stdin < password.txt',
  ],
  async run(tools, input) {
    const { email, pool, firstName, lastName, locale, tag, role, verified, passwordStdin } = input
    const password = passwordStdin ? (await readSecrets(tools, true)).password : undefined
    const given = {
      namespace: pool,
      first_name: firstName,
      last_name: lastName,
      locale,
      tags: tag,
      roles: role,
      email_verified: verified || undefined,
      password,
    }
    const body = { email, ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) }
    await noteNewPools(tools, [pool, ...(tag ?? [])])
    const user = await bodyOf(tools.api.POST('/api/v1/admin/users', { body }))
    if (password === undefined) tools.io.note('the user has no password yet, and can set one with a "forgot password" mail')
    return record(user, 'created')
  },
})
