// Calls of `auth` that only this package makes. Registered symbols, so that one copy of the package finds them in another.

/** A guard that asks for permissions calls it, so that `auth` can warn if every token carries them. */
export const asksPermissions: unique symbol = Symbol.for('gatehouse.asksPermissions')
/** Returns the settings of `auth`, for entry points that call the service too. */
export const settingsOf: unique symbol = Symbol.for('gatehouse.settings')
