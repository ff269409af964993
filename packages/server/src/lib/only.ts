/** The first element of a list. Throws if the list is empty. */
export function only<T>([first]: readonly T[]): T {
  if (first === undefined) throw new Error('the list is empty, and one element is needed')
  return first
}
