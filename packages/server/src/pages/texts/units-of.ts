/** Writes a number of units in words: `5 minutes`. */
export function unitsOf(locale: string, unit: 'minute'): (count: number) => string {
  const format = new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' })
  return (count) => format.format(count)
}
