/** The columns that hold states. Text that users typed is in other columns, and is never coloured. */
const stateColumns = new Set(['status', 'state', 'access', 'ok', 'outcome', 'event'])

const styles = [
  { style: 'green', states: new Set(['active', 'delivered', 'accepted', 'yes']) },
  { style: 'yellow', states: new Set(['inactive', 'suspended', 'pending', 'expired', 'planned', 'not_tried']) },
  { style: 'red', states: new Set(['revoked', 'deleted', 'failed', 'locked', 'no']) },
] as const

/** The verdicts on an attack. An accepted one should have been refused. */
const verdicts: Record<string, StateStyle> = { refused: 'green', accepted: 'red' }

type StateStyle = (typeof styles)[number]['style']

/** The colour of a state, depending on its column. Of the events, only failures have one. */
export function stateStyle(column: string, text: string): StateStyle | undefined {
  if (column === 'verdict') return verdicts[text] ?? 'yellow'
  if (!stateColumns.has(column)) return undefined
  if (column === 'event') return /\.(failed|locked|refused|denied)$/.test(text) ? 'red' : undefined
  return styles.find(({ states }) => states.has(text))?.style
}
