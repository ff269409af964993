/**
 * A guard that asks for permissions calls the method of this name, so that `auth` can warn if every token carries them. A
 * registered symbol, so that a guard of one copy of this package finds the method in another copy.
 */
export const asksPermissions: unique symbol = Symbol.for('gatehouse.asksPermissions')
