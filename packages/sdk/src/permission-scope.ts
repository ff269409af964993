/**
 * A guard that asks for permissions calls the method of this name, so that `auth` can warn when they keep nobody out. In the registry of
 * symbols, so that a guard of one copy of this package finds it in another.
 */
export const asksPermissions: unique symbol = Symbol.for('gatehouse.asksPermissions')
