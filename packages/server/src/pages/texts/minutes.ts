interface Minutes {
  /** `5 minutes`. */
  lasting(count: number): string
  /** `in 5 minutes`. */
  ahead(count: number): string
}

export function minutesIn(locale: string): Minutes {
  const unit = new Intl.NumberFormat(locale, { style: 'unit', unit: 'minute', unitDisplay: 'long' })
  const relative = new Intl.RelativeTimeFormat(locale)
  return { lasting: (count) => unit.format(count), ahead: (count) => relative.format(count, 'minute') }
}
