const momentForm = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/

/** Whether a value is a moment in the form that the service writes. */
export function isMoment(value: unknown): value is string {
  return typeof value === 'string' && momentForm.test(value)
}

const units = [
  ['y', 365 * 86_400],
  ['mo', 30 * 86_400],
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
] as const

/** A moment less than this far ahead counts as now: the clock of the service may be a little ahead of ours. */
const clockSlackSeconds = 10

/** `5m ago`, `in 3d`, or `now`. */
export function relativeTime(moment: string, now: number): string {
  const seconds = (Date.parse(moment) - now) / 1000
  const distance = Math.abs(seconds)
  const [unit, size] = units.find(([, size]) => distance >= size) ?? ['s', 1]
  if (distance < 1 || (seconds > 0 && seconds < clockSlackSeconds)) return 'now'
  const told = `${Math.floor(distance / size)}${unit}`
  return seconds < 0 ? `${told} ago` : `in ${told}`
}
