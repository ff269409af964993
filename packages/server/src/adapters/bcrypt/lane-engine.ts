import type { BcryptEngine, DigestJob } from './bcrypt-engine.ts'
import type { Lanes } from './lanes.ts'

/** Hashes in lanes. The thread accepts new jobs between steps, so a job that comes later joins the running ones. */
export class LaneEngine implements BcryptEngine {
  readonly #lanes: Lanes
  #isRunning = false

  constructor(lanes: Lanes) {
    this.#lanes = lanes
  }

  digest({ password, ...job }: DigestJob): Promise<Uint8Array> {
    return new Promise((done) => {
      const bytes = new TextEncoder().encode(password)
      this.#lanes.start({ ...job, password: bytes, done })
      bytes.fill(0)
      if (!this.#isRunning) this.#run()
    })
  }

  #run(): void {
    this.#isRunning = this.#lanes.taken > 0
    if (!this.#isRunning) return
    setImmediate(() => {
      this.#lanes.step()
      this.#run()
    })
  }
}
