import { inspectToken } from '@gatehouse/sdk/inspect'
import { Failure } from '../../command-line/exit-codes.ts'
import { optionalPositional, text } from '../../command-line/options.ts'
import { parseAppRef } from '../../nouns/app-ref.ts'
import { rowsOf } from '../../output/output.ts'
import { command } from '../../tools/command.ts'
import { readSecretFile } from '../../tools/read-secret-file.ts'
import { readToken } from '../../tools/read-token.ts'

export const inspect = command({
  path: 'token inspect',
  options: {
    source: optionalPositional('-', 'Read the token from standard input. Default on a terminal: ask for it'),
    secretFile: text('FILE', 'File with the signing secret. Without it, nothing is verified'),
    app: text('CODE', 'Code of the app that the token must be for', { completes: 'apps' }),
    issuer: text('NAME', 'Required value of iss. Default: gatehouse'),
  },
  summary: 'Decode an access token, and verify it with the secret',
  description:
    'Runs the checks of docs/tokens.md in their order, except revocation. If one fails, names the first and exits with 6. ' +
    'Nothing is sent anywhere, and the token itself is not shown.',
  examples: [
    'token inspect',
    'token inspect - < token.txt',
    'token inspect - --secret-file secret.txt --app shop --json < token.txt',
  ],
  async run(tools, input) {
    const token = await readToken(tools, input.source, 'token inspect')
    const secrets = input.secretFile === undefined ? [] : [readSecretFile(input.secretFile)]
    const appCode = input.app === undefined ? undefined : parseAppRef(input.app)
    const { valid, header, claims, checks } = await inspectToken(token, {
      secrets,
      appCode,
      issuer: input.issuer,
      now: tools.now,
    })
    const failed = checks.find(({ ok }) => !ok)
    if (valid === null) tools.io.note('decoded, not verified: --secret-file FILE verifies it')
    return {
      kind: 'report',
      value: { valid, failed_check: failed?.code ?? null, header, claims, checks },
      parts: [
        rowsOf([...checks], [['check', ({ name }) => name], 'ok', 'code', 'detail']),
        ...(header ? ['', { record: header }] : []),
        ...(claims ? ['', { record: withTimes(claims) }] : []),
      ],
      failure: failed && new Failure('invalid', `${failed.name}: ${failed.detail}`, { code: failed.code! }),
    }
  },
})

/** Adds the date to claims that hold seconds since 1970. */
function withTimes(claims: Record<string, unknown>): Record<string, unknown> {
  const shown = { ...claims }
  for (const name of ['exp', 'nbf', 'iat']) {
    const seconds = claims[name]
    if (Number.isSafeInteger(seconds) && Math.abs(seconds as number) <= 8.64e12)
      shown[name] = `${seconds} (${new Date((seconds as number) * 1000).toISOString()})`
  }
  return shown
}
