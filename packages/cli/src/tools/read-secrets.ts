import { usageFailure } from '../command-line/exit-codes.ts'
import type { Tools } from './create-tools.ts'

export interface Secrets {
  password: string
  /** Undefined if it was not given, which is allowed here. */
  code: string | undefined
}

/** The password, from standard input with --password-stdin, else from a hidden prompt. */
export async function readSecrets({ io, prompt }: Pick<Tools, 'io' | 'prompt'>, fromStdin: boolean): Promise<Secrets> {
  if (!fromStdin) {
    if (!io.canAsk) throw usageFailure('--password-stdin is required', 'a password is never taken on the command line')
    return { password: await prompt.hidden('Password:'), code: undefined }
  }
  const [password = '', code, ...more] = (await io.readInput()).replace(/\r?\n$/, '').split(/\r?\n/)
  if (password === '') throw usageFailure('standard input does not contain a password')
  if (more.length > 0) throw usageFailure('standard input contains more than a password and a two-factor code')
  return { password, code: code?.trim() || undefined }
}

/** Asks for the two-factor code if none came with the password. */
export async function askForCode({ io, prompt }: Pick<Tools, 'io' | 'prompt'>): Promise<string> {
  if (!io.canAsk)
    throw usageFailure(
      'a two-factor code is required',
      'give it as the second line of --password-stdin, or run this on a terminal',
    )
  return prompt.text('Two-factor or recovery code:')
}
