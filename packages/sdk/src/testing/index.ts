export { type BadToken, createBadTokens, createMachineToken } from './bad-tokens.ts'
export {
  createTestAuth,
  type TestAuth,
  type TestAuthOptions,
  type TestEnvironment,
  type TokenOverrides,
} from './create-test-auth.ts'
export type { TestUserChange } from './fake-service.ts'
export type { TestUser } from './fake-sign-in.ts'
