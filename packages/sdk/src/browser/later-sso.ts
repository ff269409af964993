import type { BrowserSso, Sso, SsoLinkOptions, SsoResult, SsoStartOptions } from './sso.ts'
import { readSsoAnswer } from './sso-answer.ts'

type Parts = ConstructorParameters<typeof Sso>

/** Third-party login, loaded when a page starts one or comes back from one. */
export class LaterSso implements BrowserSso {
  readonly #parts: Parts
  #loaded: Promise<Sso> | undefined

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

  #load(): Promise<Sso> {
    this.#loaded ??= import('./sso.ts').then(
      ({ Sso }) => new Sso(...this.#parts),
      (error: unknown) => {
        this.#loaded = undefined
        throw error
      },
    )
    return this.#loaded
  }
}
