/** So many in a fixed window of so many seconds. */
export interface RateLimit {
  count: number
  seconds: number
}
