// `npm run check` refuses what it claims to refuse: plants each fault in a copy of the
// sources and runs the check that must find it.
import { execFile, execFileSync } from 'node:child_process'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
const server = 'packages/server/src'
let copy = ''

/** Links the installed packages into the copy, except those of the workspace, which the copy has itself. */
function linkModules(folder: string): void {
  const from = join(root, folder, 'node_modules')
  if (!existsSync(from)) return
  const to = join(copy, folder, 'node_modules')
  mkdirSync(to, { recursive: true })
  for (const name of readdirSync(from)) if (name !== '@gatehouse') symlinkSync(join(from, name), join(to, name))
  if (!existsSync(join(from, '@gatehouse'))) return
  mkdirSync(join(to, '@gatehouse'))
  for (const name of readdirSync(join(from, '@gatehouse')))
    symlinkSync(readlinkSync(join(from, '@gatehouse', name)), join(to, '@gatehouse', name))
}

beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), 'gatehouse-check-'))
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], {
    cwd: root,
    encoding: 'utf8',
  })
  for (const file of listed.split('\0')) {
    // Leave out the tests: they are most of the source and do not affect what a check refuses.
    if (file === '' || file.endsWith('.test.ts') || !existsSync(join(root, file))) continue
    cpSync(join(root, file), join(copy, file))
  }
  linkModules('')
  for (const group of ['packages', 'examples']) for (const name of readdirSync(join(root, group))) linkModules(join(group, name))
})

afterAll(() => rmSync(copy, { recursive: true, force: true }))

function check(name: string): Promise<{ code: number; output: string }> {
  const path = `${join(root, 'node_modules', '.bin')}:${dirname(process.execPath)}:${process.env.PATH}`
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      ['scripts/check.ts', name],
      { cwd: copy, env: { ...process.env, PATH: path } },
      (error, stdout, stderr) => resolve({ code: error ? Number(error.code) : 0, output: stdout + stderr }),
    )
  })
}

/** Creates files in the copy, or appends to existing ones, and undoes that after `attempt`. */
async function planted<T>(files: Record<string, string>, attempt: () => Promise<T>): Promise<T> {
  const before = Object.keys(files).map(
    (file) => [join(copy, file), existsSync(join(copy, file)) ? readFileSync(join(copy, file)) : undefined] as const,
  )
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(copy, file)), { recursive: true })
    appendFileSync(join(copy, file), text)
  }
  try {
    return await attempt()
  } finally {
    for (const [path, text] of before) text === undefined ? rmSync(path) : writeFileSync(path, text)
  }
}

/** Moves the packages away, which `npm run check` itself covers: only what is planted then takes time to check. */
async function withoutPackages<T>(attempt: () => Promise<T>): Promise<T> {
  const [packages, elsewhere] = [join(copy, 'packages'), `${copy}-packages`]
  renameSync(packages, elsewhere)
  try {
    return await attempt()
  } finally {
    rmSync(packages, { recursive: true })
    renameSync(elsewhere, packages)
  }
}

describe('imports', () => {
  /** All are planted for one run of the check: [the importing file, the import, the rule that refuses it]. */
  const refused: [file: string, line: string, rule: string][] = [
    [`${server}/lib/planted.ts`, "import '../models/user.ts'", 'foundations-import-lib'],
    [`${server}/adapters/planted.ts`, "import '../deps.ts'", 'adapters-import-the-foundations'],
    [`${server}/http/planted-adapter.ts`, "import '../adapters/mailer.ts'", 'adapters-come-with-deps'],
    [`${server}/resources/planted/send-planted.ts`, "import '../../adapters/mailer.ts'", 'adapters-come-with-deps'],
    [`${server}/lib/planted-adapter.ts`, "import '../adapters/mailer.ts'", 'foundations-import-lib'],
    [`${server}/mail/planted.ts`, "import '../deps.ts'", 'mail-imports-lib'],
    [`${server}/models/planted.ts`, "import '../errors.ts'", 'models-import-models'],
    [`${server}/models/planted-npm.ts`, "import 'koa'", 'models-know-only-objection'],
    [`${server}/db/planted.ts`, "import '../models/user.ts'", 'db-imports-the-foundations'],
    [`${server}/http/planted.ts`, "import '../models/user.ts'", 'http-is-handed-what-it-needs'],
    [`${server}/http/planted-type.ts`, "export type { User } from '../models/user.ts'", 'http-is-handed-what-it-needs'],
    [`${server}/workers/planted.ts`, "import '../http/route.ts'", 'workers-import-as-flows'],
    [`${server}/workers/planted-koa.ts`, "import 'koa'", 'use-cases-without-koa'],
    [`${server}/resources/planted/routes.ts`, "import '../../models/user.ts'", 'routes-use-their-own'],
    [`${server}/resources/planted-knex/routes.ts`, "import 'knex'", 'routes-without-knex'],
    [`${server}/resources/planted-neighbour/routes.ts`, "import '../users/routes.ts'", 'routes-use-their-own'],
    [`${server}/resources/planted/schema.ts`, "import '../users/users.ts'", 'shapes-are-pure'],
    [`${server}/resources/planted/present.ts`, "import '../../models/user.ts'", 'shapes-use-models-as-types'],
    [`${server}/resources/planted-koa/present.ts`, "import 'koa'", 'shapes-without-koa-or-knex'],
    [`${server}/resources/planted/find-planted.ts`, "import '../../flows/sign-in/login.ts'", 'resources-import-no-flow'],
    [`${server}/resources/planted/insert-planted.ts`, "import './schema.ts'", 'use-cases-use-schema-as-types'],
    [`${server}/resources/planted/list-planted.ts`, "import 'koa'", 'use-cases-without-koa'],
    [`${server}/flows/planted/plant.ts`, "import '../refresh/refresh.ts'", 'flows-import-no-flow-but-sign-in'],
    [`${server}/flows/sign-in/planted.ts`, "import '../refresh/refresh.ts'", 'sign-in-imports-no-flow'],
    [`${server}/flows/sso/planted-gate.ts`, "import '../../resources/sessions/open-session.ts'", 'sessions-open-by-sign-in'],
    ['packages/cli/src/planted.ts', "import '../../server/src/errors.ts'", 'cli-speaks-http'],
    ['packages/cli/src/planted-name.ts', "import '@gatehouse/server'", 'not-resolvable'],
    ['packages/cli/src/text/planted.ts', "import '../commands/index.ts'", 'cli-text-imports-rooms-before-it'],
    ['packages/cli/src/nouns/planted.ts', "import '../user-files/split-lines.ts'", 'cli-nouns-imports-rooms-before-it'],
    ['packages/cli/src/commands/planted.ts', "import './role.ts'", 'cli-commands-import-no-command'],
    ['packages/cli/src/planted-sdk.ts', "import '@gatehouse/sdk'", 'cli-speaks-http'],
    ['packages/cli/src/planted-path.ts', "import '../../sdk/src/inspect.ts'", 'sdk-by-name'],
    [`${server}/lib/planted-sdk.ts`, "import '@gatehouse/sdk/inspect'", 'foundations-import-lib'],
    [`${server}/lib/planted-path.ts`, "import '../../../sdk/src/protocol.ts'", 'sdk-by-name'],
    [`${server}/models/planted-sdk.ts`, "import '@gatehouse/sdk/protocol'", 'models-import-models'],
    ['packages/sdk/src/planted.ts', "import '../../server/src/errors.ts'", 'sdk-stands-alone'],
    ['packages/sdk/src/planted-test.ts', "import '../../../test/support/postgres.ts'", 'sources-without-tests'],
    ['examples/koa-api/planted.ts', "import '../../packages/sdk/src/index.ts'", 'examples-use-entry-points'],
    ['examples/koa-api/planted-server.ts', "import '../../packages/server/src/errors.ts'", 'examples-use-the-published-sdk'],
    [`${server}/lib/planted-nowhere.ts`, "import './nowhere.ts'", 'not-resolvable'],
    [`${server}/lib/planted-program.ts`, "import '../gatehouse.ts'", 'programs-have-effects'],
    [`${server}/lib/planted-cycle-a.ts`, "import './planted-cycle-b.ts'", 'no-cycle-outside-models'],
  ]
  /** Imports that are allowed but are close to refused ones. */
  const accepted: [file: string, line: string][] = [
    [`${server}/lib/planted-protocol.ts`, "import '@gatehouse/sdk/protocol'"],
    ['packages/cli/src/planted-inspect.ts', "import '@gatehouse/sdk/inspect'"],
    [`${server}/models/planted-cycle-a.ts`, "import './planted-cycle-b.ts'"],
    [`${server}/models/planted-cycle-b.ts`, "import './planted-cycle-a.ts'"],
    [`${server}/resources/planted-types/present.ts`, "import type { User } from '../../models/user.ts'"],
    [`${server}/resources/planted-types/find-planted.ts`, "import type { Planted } from './schema.ts'"],
    [`${server}/resources/planted-types/schema.ts`, 'export type Planted = string'],
    [`${server}/resources/planted-types/send-planted.ts`, "import type { Mailer } from '../../adapters/mailer.ts'"],
    [`${server}/flows/planted/plant-login.ts`, "import '../sign-in/login.ts'"],
    [`${server}/lib/planted.test.ts`, "import '../models/user.ts'"],
  ]
  let outcome: { code: number; output: string }

  beforeAll(async () => {
    const files = Object.fromEntries([...refused, ...accepted].map(([file, line]) => [file, `${line}\n`]))
    files[`${server}/lib/planted-cycle-b.ts`] = "import type {} from './planted-cycle-a.ts'\n"
    outcome = await planted(files, () => check('imports'))
  })

  test('the check of planted imports fails', () => {
    expect(outcome.code).toBe(1)
    expect(outcome.output).toContain('FAILED  imports')
  })

  test.each(refused)('%s: %s is refused', (file, _line, rule) => {
    expect(outcome.output).toMatch(new RegExp(`error ${rule}: ${file.replaceAll('.', '[.]')} →`))
  })

  test.each(accepted)('%s: %s is accepted', (file) => {
    expect(outcome.output).not.toContain(`: ${file} →`)
  })
})

test('an error code outside the closed table does not compile, thrown or declared by a route', async () => {
  const faults = {
    [`${server}/resources/apps/planted.ts`]: "import { ApiError } from '../../errors.ts'\nthrow new ApiError('no_such_code')\n",
    [`${server}/http/planted.ts`]:
      "import type { Route } from './route.ts'\nexport const errors: Route['errors'] = ['no_such_code']\n",
  }
  const path = join(copy, 'tsconfig.json')
  const settings = readFileSync(path, 'utf8')
  // Compile only these files and their imports, since all files together would take half a minute.
  writeFileSync(path, JSON.stringify({ ...JSON.parse(settings), include: Object.keys(faults) }))
  const { code, output } = await planted(faults, () => check('types')).finally(() => writeFileSync(path, settings))
  expect(code).toBe(1)
  expect(output).toContain('FAILED  types')
  expect(output).toMatch(/resources\/apps\/planted\.ts.*no_such_code/)
  expect(output).toMatch(/http\/planted\.ts.*no_such_code/)
}, 300_000)

test('a generated file that was edited by hand is stale, and the message names it and the command that mends it', async () => {
  const files = ['docs/reference/openapi.json', 'docs/reference/errors.md', 'docs/reference/configuration.md']
  const { code, output } = await planted(Object.fromEntries(files.map((file) => [file, '\n'])), () => check('generated'))
  expect(code).toBe(1)
  expect(output).toContain('FAILED  generated')
  for (const file of files) expect(output).toContain(`${file} is stale: run \`npm run generate\``)
})

test('dead code and careless style are refused', async () => {
  const files = { [`${server}/lib/planted.ts`]: 'export const unused  = "double quotes";\n' }
  const unused = await planted(files, () => check('unused'))
  const style = await withoutPackages(() => planted(files, () => check('style')))
  for (const { code, output } of [unused, style]) {
    expect(code).toBe(1)
    expect(output).toContain(`${server}/lib/planted.ts`)
  }
})

test('a table named outside the models and a handle that leaks into a transaction are refused', async () => {
  const plantedFile = (name: string) => `${server}/resources/planted/${name}.ts`
  const files = {
    [plantedFile('table')]: "deps.db('users')\n",
    [plantedFile('sql')]: 'export const sql = `select id\n from users where id = :id`\n',
    [plantedFile('knex')]: "import 'knex'\n",
    [plantedFile('outer')]: 'transaction(deps, async (inner) => inner)\n',
    [plantedFile('outer-db')]: 'transaction(deps, async (deps) => db.raw(deps))\n',
    [plantedFile('related')]: 'user.$relatedQuery("tags")\n',
    [plantedFile('fine')]: 'transaction(deps, async (deps) => { const { db } = deps; return User.findByEmail(db) })\n',
  }
  const { code, output } = await planted(files, () => check('data'))
  expect(code).toBe(1)
  for (const name of ['table', 'sql', 'knex', 'outer', 'outer-db', 'related']) expect(output).toContain(`planted/${name}.ts`)
  expect(output).not.toContain('planted/fine.ts')
})

test('a table without a model, and a second model of a table, are refused', async () => {
  const files = {
    [`${server}/db/migrations/planted.ts`]: "db.schema.createTable('planted_rows', () => {})\n",
    [`${server}/models/planted.ts`]: "class Planted extends BaseModel {\n  static override tableName = 'passkeys'\n}\n",
  }
  const { code, output } = await planted(files, () => check('data'))
  expect(code).toBe(1)
  expect(output).toContain('planted_rows has 0 models')
  expect(output).toContain('passkeys has 2 models')
})

test('folders that import from one another are refused, both two of them and a ring of three', async () => {
  const files = {
    [`${server}/lib/planted-pair/one.ts`]: "import '../../mail/planted-pair/other.ts'\n",
    [`${server}/mail/planted-pair/other.ts`]: "export type { One } from '../../lib/planted-pair/one.ts'\n",
    'packages/cli/src/planted-a/a.ts': "import '../planted-b/b.ts'\n",
    'packages/cli/src/planted-b/b.ts': "import '../planted-c/c.ts'\n",
    'packages/cli/src/planted-c/c.ts': "import type {} from '../planted-a/a.ts'\n",
  }
  const { code, output } = await planted(files, () => check('rooms'))
  expect(code).toBe(1)
  expect(output).toContain('lib/planted-pair, mail/planted-pair import each other')
  expect(output).toContain('mail/planted-pair/other.ts → lib/planted-pair/one.ts')
  expect(output).toContain('planted-a, planted-b, planted-c import each other')
})

test('code that reads the role of admins, the query or an Accept header is refused, and a route that declares its caller is not', async () => {
  const files = {
    [`${server}/flows/planted/enter-planted.ts`]: "export const isAdmin = (roles: string[]) => roles.includes('system_admin')\n",
    [`${server}/models/planted-query.ts`]: "export const admins = `select 1 where role_code = 'system_admin'`\n",
    [`${server}/resources/planted/routes.ts`]: "export const auth = 'system_admin'\n",
    [`${server}/http/planted-page.ts`]: 'export const tokenOf = (ctx: { query: { token: string } }) => ctx.query.token\n',
    [`${server}/http/planted-error.ts`]:
      "export const isPage = (ctx: { accepts(type: string): string }) => ctx.accepts('html') !== ''\n",
  }
  const { code, output } = await planted(files, () => check('authority'))
  expect(code).toBe(1)
  expect(output).toContain('flows/planted/enter-planted.ts:1 names the role itself')
  expect(output).toContain('models/planted-query.ts:1 names the role itself')
  expect(output).toContain('http/planted-page.ts:1 lets Koa parse the query')
  expect(output).toContain('http/planted-error.ts:1 lets Koa parse a header')
  expect(output).not.toContain('routes.ts:1')
})

test('a citation of a text outside the repository and a word that is not plain English are refused', async () => {
  const text = `// ${'decisions'} 5 says why\n// 50 unless told\n`
  const { code, output } = await planted({ [`${server}/lib/planted-words.ts`]: text }, () => check('words'))
  expect(code).toBe(1)
  expect(output).toContain('lib/planted-words.ts:1 cites')
  expect(output).toContain('lib/planted-words.ts:2 is not plain English')
})

test('a sentence of the contract without a test, and a test or a topic of a missing sentence, are refused', async () => {
  const files = {
    'docs/reference/contract/service.md': '- <a id="planted-sentence"></a>Nobody has tried this.\n',
    'docs/reference/contract/README.md': '[a topic](service.md#no-such-sentence)\n',
    'test/contract/planted.test.ts':
      "// covers no-such-sentence\ntest('a planted test', () => {})\n// covers planted-sentence\nplant()\n",
  }
  const { code, output } = await planted(files, () => check('contract'))
  expect(code).toBe(1)
  expect(output).toContain('docs/reference/contract/service.md#planted-sentence is not covered by a test')
  expect(output).toContain(
    'planted.test.ts: “a planted test” covers no-such-sentence, which no page of docs/reference/contract has',
  )
  expect(output).toContain('planted.test.ts: the statement after “covers planted-sentence” is not a test')
  expect(output).toContain('docs/reference/contract/README.md links to service.md#no-such-sentence, which does not exist')
})

test('an unknown check is refused with a list of the known ones', async () => {
  const { code, output } = await check('nonsense')
  expect(code).toBe(2)
  expect(output).toContain('Unknown check nonsense; available: types,')
})
