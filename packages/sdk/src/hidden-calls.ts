/**
 * The method of `auth` that gives other entry points of this package its settings, and the check at the start. A registered symbol,
 * so that one copy of the package finds it in another.
 */
export const partsOf: unique symbol = Symbol.for('gatehouse.parts')
