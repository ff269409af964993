import { PasswordHasher } from '../../packages/server/src/adapters/password-hasher.ts'
import type { TestService } from './service.ts'

/** The real hasher, which also counts its bcrypt calls. */
export class CountingHasher extends PasswordHasher {
  verified = 0
  hashed = 0
  /** Called at the start of each verification, which waits for it. */
  onVerify: () => unknown = () => {}

  override async verify(...args: Parameters<PasswordHasher['verify']>): Promise<boolean> {
    this.verified += 1
    await this.onVerify()
    return super.verify(...args)
  }

  override hash(...args: Parameters<PasswordHasher['hash']>): Promise<string> {
    this.hashed += 1
    return super.hash(...args)
  }

  reset(): void {
    this.verified = 0
    this.hashed = 0
  }
}

/** Replaces the hasher of a service by one that counts. */
export async function countBcrypts(service: TestService): Promise<CountingHasher> {
  const { config, passwords } = service.deps
  const counting = new CountingHasher({ cost: config.bcryptCost, threads: config.hashThreads })
  service.deps.passwords = counting
  await passwords.close()
  return counting
}
