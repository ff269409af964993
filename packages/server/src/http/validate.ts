import type { z } from 'zod'
import { type FieldError, type FieldErrorCode, fieldErrorCodes, validationFailed } from '../errors.ts'

/** Translates an issue of zod to the field errors of the API. `input` is the value that was validated. */
function fieldErrorsOf(issue: z.core.$ZodIssue, input: unknown, prefix: readonly PropertyKey[] = []): FieldError[] {
  const path = [...prefix, ...issue.path]
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      path: [...path, key].map(String).join('.'),
      code: 'unknown_field',
      message: 'is not a field of this request',
    }))
  }
  return [{ path: path.map(String).join('.'), ...judge(issue, valueAt(input, path)) }]
}

function judge(issue: z.core.$ZodIssue, value: unknown): { code: FieldErrorCode; message: string } {
  switch (issue.code) {
    case 'invalid_type':
      return value === undefined
        ? { code: 'required', message: 'is required' }
        : { code: 'invalid_type', message: `must be ${issue.expected === 'array' ? 'an' : 'a'} ${issue.expected}` }
    case 'invalid_union':
      return { code: 'invalid_type', message: 'is not of an accepted type' }
    case 'too_small':
      return {
        code: 'too_short',
        message:
          issue.origin === 'string' ? `must have at least ${issue.minimum} characters` : `must be at least ${issue.minimum}`,
      }
    case 'too_big':
      return {
        code: 'too_long',
        message:
          issue.origin === 'string'
            ? `must have at most ${issue.maximum} characters`
            : issue.origin === 'array'
              ? `must have at most ${issue.maximum} entries`
              : `must be at most ${issue.maximum}`,
      }
    case 'custom':
      return { code: fieldErrorCodes.find((code) => code === issue.params?.code) ?? 'invalid_value', message: issue.message }
    case 'invalid_value':
      if (value === undefined) return { code: 'required', message: 'is required' }
      return {
        code: typeof value === 'string' ? 'invalid_value' : 'invalid_type',
        message: `must be one of ${issue.values.map(String).join(', ')}`,
      }
    default:
      return { code: 'invalid_value', message: issue.message }
  }
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  let value: unknown = input
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = Reflect.get(value, key)
  }
  return value
}

/** Parses a body or query by its schema. Throws `validation_failed` naming every field that is wrong. */
export function validate<T extends z.ZodType>(schema: T, input: unknown): z.output<T> {
  const result = schema.safeParse(input)
  if (result.success) return result.data
  const errors = result.error.issues.flatMap((issue) => fieldErrorsOf(issue, input))
  throw validationFailed(errors)
}
