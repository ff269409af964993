/**
 * `unreachable`: no answer in time, or a fault on the provider's side. `denied`: the provider declined the login; `word` is its
 * error code. `refused`: an answer that cannot be trusted, or that says that we may not ask.
 */
type ProviderFaultKind = 'unreachable' | 'denied' | 'refused'

/** Why a login at a provider failed. The message goes only to the log, since the other side may have written parts of it. */
export class ProviderFault extends Error {
  readonly kind: ProviderFaultKind
  readonly word: string | undefined

  constructor(kind: ProviderFaultKind, cause: unknown, word?: string) {
    super(describe(cause), { cause })
    this.name = 'ProviderFault'
    this.kind = kind
    this.word = word
  }
}

/** Joins the messages of an error and of its causes. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return 'an unexpected response'
  const code = 'code' in error && typeof error.code === 'string' ? ` (${error.code})` : ''
  return `${error.message}${code}${error.cause instanceof Error ? `: ${describe(error.cause)}` : ''}`
}
