import { z } from 'zod'

/** The messages for a missing value and for one of the wrong type. */
function said(message: string) {
  return { error: ({ input }: { input?: unknown }) => (input === undefined ? 'is required' : message) }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** An object of exactly these fields. Leaves out empty fields, and null where the field does not allow it. */
export function entry<Shape extends z.core.$ZodShape & Record<string, z.ZodType>>(shape: Shape) {
  const isLeftOut = (key: string, value: unknown) =>
    Object.hasOwn(shape, key) && (value === '' || (value === null && !shape[key]?.safeParse(null).success))
  const withoutBlanks = (given: unknown) =>
    isObject(given) ? Object.fromEntries(Object.entries(given).filter(([key, value]) => !isLeftOut(key, value))) : given
  const fields = z.strictObject(shape, { error: `must have the fields ${Object.keys(shape).join(', ')}` })
  return z.preprocess(withoutBlanks, fields)
}

export function listOf<Element extends z.ZodType>(element: Element) {
  return z.array(element, said('must be a list'))
}

/** A list that the service treats as a set: duplicates are removed. */
export function setOf<Element extends z.ZodType>(element: Element) {
  return listOf(element).transform((list) => [...new Set(list)])
}

export const flag = z.boolean(said('must be true or false'))

export const text = z.string(said('must be text; a number or a date needs quotes'))

export const name = text.trim()
