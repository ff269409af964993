export { type BadToken, createBadTokens, createMachineToken } from './bad-tokens.ts'
export {
  createTestAuth,
  type TestAuth,
  type TestAuthOptions,
  type TestEnvironment,
  type TokenOverrides,
} from './create-test-auth.ts'
