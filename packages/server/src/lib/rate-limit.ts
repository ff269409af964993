/** A number of attempts in a fixed window of seconds. */
export interface AttemptLimit {
  count: number
  seconds: number
}

/** An attempt that was counted and may be given back. */
export interface Attempt {
  key: string
  /** End of the window it was counted in, in milliseconds. It can be given back only to that window. */
  resetsAt: number
}
