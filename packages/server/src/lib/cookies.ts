/**
 * `browser` marks the browser, `session` signs a person in, `device` is the device token of a login, and `trust` stands for a
 * second factor that was shown on an earlier day.
 */
export type CookieName = 'browser' | 'session' | 'device' | 'trust'
export type Cookies = Partial<Record<CookieName, string>>
/** Cookies to set. Null deletes one. Without `seconds` it lasts until the browser closes. */
export type SetCookies = Partial<Record<CookieName, { value: string; seconds?: number | undefined } | null>>
