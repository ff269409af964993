/** `browser` marks the browser, `session` signs a person in, and `device` is the device token of a login. */
export type CookieName = 'browser' | 'session' | 'device'
export type Cookies = Partial<Record<CookieName, string>>
/** Cookies to set. Null deletes one. Without `seconds` it lasts until the browser closes. */
export type SetCookies = Partial<Record<CookieName, { value: string; seconds?: number | undefined } | null>>
