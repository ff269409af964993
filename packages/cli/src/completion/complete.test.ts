import { expect, test } from 'vitest'
import { commands, nouns } from '../commands/index.ts'
import { complete } from './complete.ts'

const after = (line: string) => complete(line.split(' '), commands, nouns)
const words = (line: string) => {
  const completion = after(line)
  return completion.kind === 'words' ? completion.candidates.map(({ value }) => value) : completion.kind
}

test.each([
  ['log', ['login', 'logout']],
  ['app s', ['show', 'signing']],
  ['app de', ['deactivate', 'delete']],
  ['user se', ['session']],
  ['user session ', ['list', 'end']],
  ['user session e', ['end']],
  ['org invitation revoke x --o', ['--org', '--output']],
  ['--json app s', ['show', 'signing']],
  ['--context production app s', ['show', 'signing']],
  ['help app s', ['show', 'signing']],
  ['app list --sta', ['--status']],
  ['app list --status ', ['active', 'inactive']],
  ['app list --status=in', ['--status=inactive']],
  ['app list --status active --sta', []],
  ['app list -o ', ['table', 'json', 'ndjson', 'wide', 'csv', 'id']],
  ['app show shop -o ', ['table', 'json', 'ndjson']],
  ['app env shop --output ', ['dotenv', 'json']],
  ['app create new --no-auto', ['--no-auto-grant', '--no-auto-grant-follows-policy']],
  ['completion ', ['bash', 'zsh', 'fish']],
  ['api P', ['POST', 'PUT', 'PATCH']],
  ['audit list --event login.s', ['login.success']],
  ['frobnicate ', []],
  ['app frobnicate ', []],
  ['grant add --expires ', []],
])('authctl completes "%s"', (line, expected) => {
  expect(words(line)).toEqual(expected)
})

test('a command that has all its arguments is completed with its own flags', () => {
  expect(words('app list ')).toEqual(['--status', '--q', '--limit', '--columns'])
  expect(words('grant add --app shop ')).toEqual(['--user', '--from-file', '--expires'])
})

test.each([
  ['app show ', { kind: 'apps', prefix: '' }],
  ['app show sh', { kind: 'apps', prefix: '' }],
  ['app delete --force ', { kind: 'apps', prefix: '' }],
  ['grant add --app ', { kind: 'apps', prefix: '' }],
  ['grant add --app=sh', { kind: 'apps', prefix: '--app=' }],
  ['app create new --link one ', { kind: 'apps', prefix: '' }],
  ['whoami --context ', { kind: 'contexts', prefix: '' }],
  ['context use ', { kind: 'contexts', prefix: '' }],
  ['role show ', { kind: 'roles', prefix: '' }],
  ['user role --role ', { kind: 'roles', prefix: '' }],
  ['user find --pool=st', { kind: 'pools', prefix: '--pool=' }],
  ['pool collisions staff ', { kind: 'pools', prefix: '' }],
  ['permission list --service ', { kind: 'services', prefix: '' }],
  ['org show ', { kind: 'organizations', prefix: '' }],
  ['app update shop --org ', { kind: 'organizationIds', prefix: '' }],
  ['sso-provider delete ', { kind: 'providers', prefix: '' }],
  ['token inspect - --secret-file ', { kind: 'files' }],
  ['api POST /admin/apps -f ', { kind: 'files' }],
])('completing "%s" asks for names from elsewhere', (line, expected) => {
  expect(after(line)).toEqual(expected)
})

test('the code of a new app has no completions', () => {
  expect(words('app create ')).toEqual([])
})
