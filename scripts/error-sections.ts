import { STATUS_CODES } from 'node:http'
import { errorAdvice } from '../packages/server/src/error-advice.ts'
import { type ErrorCode, errorCodes, wordOf } from '../packages/server/src/errors.ts'
import { keysOf } from '../packages/server/src/lib/collections.ts'

/** A section for each status, with a heading for each code, so that a link can name one: `errors.md#app_inactive`. */
export function errorSections(): string {
  const codes = keysOf(errorCodes).sort((a, b) => errorCodes[a].status - errorCodes[b].status)
  const statuses = [...new Set(codes.map((code) => errorCodes[code].status))]
  // Two codes that clients see as one word share the heading that comes first.
  const sameWord = (code: ErrorCode) => codes.filter((other) => wordOf(other) === wordOf(code))
  return statuses
    .flatMap((status) => {
      const heads = codes.filter((code) => errorCodes[code].status === status && sameWord(code)[0] === code)
      return [`## ${status} ${STATUS_CODES[status]}`, ...heads.flatMap((code) => sectionOf(wordOf(code), sameWord(code)))]
    })
    .join('\n\n')
}

function sectionOf(word: string, codes: readonly ErrorCode[]): string[] {
  return [`### ${word}`, ...codes.flatMap((code) => meaningOf(code, codes.length > 1))]
}

function meaningOf(code: ErrorCode, withStatus: boolean): string[] {
  const { status, title } = errorCodes[code]
  const { cause, cure } = errorAdvice[code]
  return [`${withStatus ? `${status}: ` : ''}${title}.`, `- **Cause**: ${cause}\n- **Cure**: ${cure}`]
}
