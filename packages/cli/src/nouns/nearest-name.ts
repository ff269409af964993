import { closest, distance } from 'fastest-levenshtein'

/** `; the nearest is shop`: the name that was probably meant by a mistyped one. Empty if none resembles it. */
export function nearestName(typed: string, names: readonly string[]): string {
  const nearest = names.length === 0 ? undefined : closest(typed, names)
  const isNear = nearest !== undefined && distance(typed, nearest) <= Math.max(1, Math.floor(typed.length / 2))
  return isNear ? `; the nearest is ${nearest}` : ''
}
