import { loadOnce } from '../load-once.ts'
import type { BrowserSso, Sso, SsoLinkOptions, SsoResult, SsoStartOptions } from './sso.ts'
import { readSsoAnswer } from './sso-answer.ts'

type Parts = ConstructorParameters<typeof Sso>

/** Third-party login, loaded when a page starts one or comes back from one. */
export class LaterSso implements BrowserSso {
  readonly #parts: Parts
  readonly #load = loadOnce(async () => new (await import('./sso.ts')).Sso(...this.#parts))

  constructor(...parts: Parts) {
    this.#parts = parts
  }

  async start(provider: string, options?: SsoStartOptions): Promise<void> {
    await (await this.#load()).start(provider, options)
  }

  async link(provider: string, options?: SsoLinkOptions): Promise<void> {
    await (await this.#load()).link(provider, options)
  }

  async finish(url = this.#parts[0].location?.href ?? ''): Promise<SsoResult | undefined> {
    return readSsoAnswer(url) && (await this.#load()).finish(url)
  }
}
